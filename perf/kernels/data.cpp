// The data of a step: samples made, shuffled, and gathered to a batch.
#include <fmt/format.h>

#include "data/data_set.hpp"
#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

std::shared_ptr<Task> sine() {
  const TaskEntry& entry = TaskRegistry::instance().get("sine");
  const OptionValues values = OptionValues::defaults(entry.options);
  return entry.make(values, values, 1, "perf", nullptr);
}

}  // namespace

void add_data(const Sizes& s, std::vector<Kernel>& kernels) {
  const std::shared_ptr<Task> task = sine();
  if (s.batch > task->samples())
    throw Error(Exit::mistake, fmt::format("--batch {} is out of range; there are {}.", s.batch, task->samples()));
  const double set_bytes = DataSet<float>::bytes(*task), batch = s.batch;

  Kernel make;
  make.name = fmt::format("ridgeline::data/make {} samples", task->samples());
  make.arithmetic = Arithmetic::unknown;
  make.bytes = set_bytes;
  make.in_step = false;
  make.prepare = [=] {
    const auto set = std::make_shared<DataSet<float>>("sine", *task);
    return [=] { set->fill(*task, 0); };
  };
  kernels.push_back(make);

  Kernel order;
  order.name = fmt::format("ridgeline::data/shuffle {} samples", task->samples());
  order.arithmetic = Arithmetic::unknown;
  order.bytes = 4.0 * task->samples();
  order.in_step = false;
  order.prepare = [=] { return [=] { shuffled(task->samples(), 1, 1); }; };
  kernels.push_back(order);

  Kernel gather;
  gather.name = fmt::format("ridgeline::batch/gather {} of {}", s.batch, task->samples());
  gather.arithmetic = Arithmetic::none;
  gather.bytes = 2 * set_bytes * batch / task->samples();
  gather.prepare = [=] {
    const auto set = std::make_shared<DataSet<float>>("sine", *task);
    set->fill(*task, 0);
    const auto into = std::make_shared<Batch<float>>(*set, s.batch);
    const std::vector<int> shuffle = shuffled(task->samples(), 1, 0);
    const Kokkos::View<int*, Memory> numbers("numbers", shuffle.size());
    const auto host = Kokkos::create_mirror_view(numbers);
    std::copy(shuffle.begin(), shuffle.end(), host_pointer(host));
    Kokkos::deep_copy(numbers, host);
    const auto first = std::make_shared<int>(0);
    return [=] {
      into->gather(*set, numbers, *first, s.batch);
      *first = *first + 2 * s.batch <= task->samples() ? *first + s.batch : 0;
    };
  };
  kernels.push_back(gather);
}

}  // namespace ridgeline::perf
