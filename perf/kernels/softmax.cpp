// Causal softmax attention between its projections, all its kernels together. No part of a step of inputs/sine.ini.
#include <fmt/format.h>

#include "layers/attention/softmax_core.hpp"
#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

/// Attention with its arguments, and their gradients.
class Softmax {
 public:
  explicit Softmax(const Sizes& s)
      : shape_{s.batch, s.tokens},
        width_(s.width),
        core_(softmax::make_core<float>(sizes_of(s), true, nullptr)),
        queries_(filled(size())),
        keys_values_(filled(2 * size())),
        attended_(filled(size())),
        attended_gradient_(filled(size())),
        queries_gradient_(filled(size())),
        keys_values_gradient_(filled(2 * size())) {
    reserve(arena_, [&](Arena& memory) { core_->reserve(shape_, memory); });
  }

  static AttentionSizes sizes_of(const Sizes& s) {
    AttentionSizes sizes{};
    sizes.embed = sizes.out = s.width;
    sizes.heads = s.heads;
    return sizes;
  }

  Operations operations() const { return core_->operations(shape_); }
  void forward() const { core_->forward(tensor(queries_, 1), tensor(keys_values_, 2), tensor(attended_, 1)); }
  void backward() const {
    core_->backward(tensor(queries_, 1), tensor(keys_values_, 2), tensor(attended_, 1), tensor(attended_gradient_, 1),
                    tensor(queries_gradient_, 1), tensor(keys_values_gradient_, 2));
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(shape_.rows()) * width_; }
  Tensor<float> tensor(const Array& array, int times) const {
    return Tensor<float>(array.data(), shape_.batch, shape_.tokens, times * width_);
  }

  Shape shape_;
  int width_;
  std::unique_ptr<AttentionCore<float>> core_;
  Array queries_, keys_values_, attended_, attended_gradient_, queries_gradient_, keys_values_gradient_;
  Arena arena_;
};

}  // namespace

void add_softmax(const Sizes& s, std::vector<Kernel>& kernels) {
  const Operations operations = Softmax(s).operations();
  const double pairs = static_cast<double>(s.batch) * s.heads * s.tokens * (s.tokens + 1.0) / 2,
               array = 4.0 * s.rows() * s.width;
  const std::string shape = fmt::format(" {}x{}, {} heads of {}", s.batch, s.tokens, s.heads, s.width / s.heads);

  Kernel forward;
  forward.name = "ridgeline::softmax/forward" + shape;
  forward.operations = operations.forward + exponential_operations * pairs;
  forward.bytes = 4 * array;
  forward.in_step = false;
  forward.prepare = [=] {
    const auto softmax = std::make_shared<Softmax>(s);
    return [=] { softmax->forward(); };
  };
  kernels.push_back(forward);

  Kernel backward;
  backward.name = "ridgeline::softmax/backward" + shape;
  backward.operations = operations.backward + exponential_operations * pairs;
  backward.bytes = 8 * array;
  backward.in_step = false;
  backward.prepare = [=] {
    const auto softmax = std::make_shared<Softmax>(s);
    softmax->forward();
    return [=] { softmax->backward(); };
  };
  kernels.push_back(backward);
}

}  // namespace ridgeline::perf
