#include "perf/functional/works.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "core/random.hpp"
#include "driver/session.hpp"
#include "layer/registry.hpp"

namespace ridgeline::perf {
namespace {

using Array = Kokkos::View<float*, Memory>;

Array device_array(const std::string& name, const std::vector<float>& values) {
  Array array(name, values.size());
  const auto host = Kokkos::create_mirror_view(array);
  std::copy(values.begin(), values.end(), host_pointer(host));
  Kokkos::deep_copy(array, host);
  return array;
}

/// Every parameter's part of a flat buffer, times `factor`, under PREFIX/NAME.
void write_parameters(const Parameters<float>& parameters, const Array& buffer, const std::string& prefix, float factor,
                      const WriteArray& write) {
  const std::vector<float> all = host_copy(buffer);
  for (const auto& entry : parameters.entries()) {
    std::vector<float> part(all.begin() + entry.offset, all.begin() + entry.offset + entry.size);
    for (float& value : part) value *= factor;
    write(prefix + "/" + entry.name, entry.shape, part);
  }
}

class TrainingStep final : public Work {
 public:
  TrainingStep(const std::string& deck, const std::vector<Override>& overrides)
      : experiment_(read_experiment(Deck::read(deck), overrides)), session_(experiment_) {}

  void call() override { session_.trainer().step(); }

  double operations() const override {
    const Operations all = session_.model().operations(shape());
    return all.forward + all.backward;
  }

  void write_values(const WriteArray& write) override {
    Model<float>& model = session_.model();
    write_parameters(model.parameters(), model.parameters().values(), "parameter", 1, write);
    write_first_batch(write);
    const double loss = session_.trainer().step();
    write("loss", {1}, {static_cast<float>(loss)});
    // The gradients are zero after the step, and the first moment holds what they were.
    write_parameters(model.parameters(), session_.trainer().optimiser().first_moment(), "gradient",
                     1 / static_cast<float>(1 - Adam<float>::beta1), write);
    write_parameters(model.parameters(), model.parameters().values(), "updated", 1, write);
  }

 private:
  Shape shape() const { return {experiment_.training.batch, experiment_.sets.front().task->tokens()}; }

  /// The batch that the first step takes, made anew, and what the model makes of it.
  void write_first_batch(const WriteArray& write) {
    const Task& task = *experiment_.sets.front().task;
    const int batch = shape().batch, tokens = shape().tokens, channels = task.channels(), targets = task.targets();
    const std::vector<int> order = shuffled(task.samples(), experiment_.training.seed, 0);
    std::vector<double> in(std::size_t(tokens) * channels), out(std::size_t(tokens) * targets);
    std::vector<std::uint8_t> shown(tokens);
    std::vector<float> x, target;
    for (int sample = 0; sample < batch; ++sample) {
      task.make(order[sample], in.data(), out.data(), shown.data());
      for (const double value : in) x.push_back(static_cast<float>(value));
      for (const double value : out) target.push_back(static_cast<float>(value));
    }
    const Array inputs = device_array("x", x), prediction("prediction", target.size());
    session_.model().forward(Tensor<const float>(inputs.data(), batch, tokens, channels),
                             Tensor<float>(prediction.data(), batch, tokens, targets));
    write("x", {batch, tokens, channels}, x);
    write("target", {batch, tokens, targets}, target);
    write("prediction", {batch, tokens, targets}, host_copy(prediction));
  }

  Experiment experiment_;
  Session<float> session_;
};

/// The layer by itself, with its parameters, memory and signal.
class Attention final : public Work {
 public:
  Attention(const std::string& name, const Shape& shape) : width_(width_of(name)), shape_(shape), signal_("signal", 1) {
    const LayerEntry& entry = Registry::instance().get("attention", name);
    const OptionValues options = OptionValues::from(entry.options, options_of(name));
    Setup<float> setup{
        width_, width_, options, ParameterScope<float>(parameters_, ""), Signal(signal_.data()), Registry::instance()};
    layer_ = entry.make<float>(setup);
    parameters_.allocate();
    parameters_.initialise(1);
    layer_->reserve(shape_, arena_);
    arena_.allocate();
    arena_.restart();
    layer_->reserve(shape_, arena_);
    const std::size_t size = static_cast<std::size_t>(shape.rows()) * width_;
    x_ = device_array("x", normal_values(size));
    dy_ = device_array("dy", std::vector<float>(size, 1));  // of the sum of all outputs
    y_ = Array("y", size);
    dx_ = Array("dx", size);
  }

  void call() override {
    layer_->forward(tensor(x_), {}, tensor(y_));
    layer_->backward(tensor(x_), tensor(dy_), tensor(dx_));
  }

  double operations() const override {
    const Operations all = layer_->operations(shape_);
    return all.forward + all.backward;
  }

  void write_values(const WriteArray& write) override {
    const std::vector<int> shape{shape_.batch, shape_.tokens, width_};
    write_parameters(parameters_, parameters_.values(), "parameter", 1, write);
    call();
    for (const auto& [name, array] : {std::pair{"x", x_}, {"dy", dy_}, {"y", y_}, {"dx", dx_}})
      write(name, shape, host_copy(array));
    write_parameters(parameters_, parameters_.gradients(), "gradient", 1, write);
  }

 private:
  static int width_of(const std::string& name) { return name == "functional" ? 128 : 64; }
  static std::map<std::string, std::string> options_of(const std::string& name) {
    return name == "functional" ? std::map<std::string, std::string>()
                                : std::map<std::string, std::string>{{"heads", "4"}};
  }

  static std::vector<float> normal_values(std::size_t size) {
    std::vector<float> values(size);
    const RandomStream stream(1, "perf/x");
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(stream.normal(i));
    return values;
  }

  Tensor<float> tensor(const Array& array) const {
    return Tensor<float>(array.data(), shape_.batch, shape_.tokens, width_);
  }

  int width_;
  Shape shape_;
  Parameters<float> parameters_;
  Kokkos::View<std::uint64_t*, Memory> signal_;
  Arena arena_;
  std::unique_ptr<Layer<float>> layer_;
  Array x_, dy_, y_, dx_;
};

}  // namespace

std::unique_ptr<Work> make_work(const std::string& name, const std::string& deck,
                                const std::vector<Override>& overrides) {
  if (name == "step") return std::make_unique<TrainingStep>(deck, overrides);
  const std::size_t slash = name.find('/');
  const std::string layer = slash == std::string::npos ? "functional" : name.substr(0, slash),
                    size = slash == std::string::npos ? name : name.substr(slash + 1);
  Shape shape;
  int length = 0;
  const bool read = std::sscanf(size.c_str(), "%dx%d%n", &shape.batch, &shape.tokens, &length) == 2;
  if (!read || length != static_cast<int>(size.size()) || shape.batch < 1 || shape.tokens < 1)
    throw Error(Exit::mistake,
                fmt::format("{} is no work; there is step, BxN, such as 8x1024, for functional attention "
                            "on B samples of N tokens, and LAYER/BxN for another one.",
                            name));
  return std::make_unique<Attention>(layer, shape);
}

}  // namespace ridgeline::perf
