// Causal attention between its projections, softmax and linear, all kernels of a pass together. No part of a step of
// inputs/sine.ini.
#include <fmt/format.h>

#include "layers/attention/linear_attention.hpp"
#include "layers/attention/softmax_core.hpp"
#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

using Core = std::unique_ptr<AttentionCore<float>>;

Core softmax_core(const Sizes& s) {
  AttentionSizes sizes{};
  sizes.embed = sizes.out = s.width;
  sizes.heads = s.heads;
  return softmax::make_core<float>(sizes, true, nullptr);
}

Core linear_core(const Sizes& s) {
  return make_linear_attention<float>({s.width, s.width, s.heads, false, Feature::elu1, true});
}

/// Attention with its arguments, and their gradients.
class Attention {
 public:
  Attention(const Sizes& s, Core core)
      : shape_{s.batch, s.tokens},
        width_(s.width),
        core_(std::move(core)),
        queries_(filled(size())),
        keys_values_(filled(2 * size())),
        attended_(filled(size())),
        attended_gradient_(filled(size())),
        queries_gradient_(filled(size())),
        keys_values_gradient_(filled(2 * size())) {
    reserve(arena_, [&](Arena& memory) { core_->reserve(shape_, memory); });
  }

  void forward() const { core_->forward(tensor(queries_, 1), tensor(keys_values_, 2), tensor(attended_, 1)); }
  void backward() const {
    core_->begin_backward(tensor(queries_, 1), tensor(keys_values_, 2), tensor(attended_, 1),
                          tensor(attended_gradient_, 1));
    core_->backward(tensor(queries_, 1), tensor(keys_values_, 2), tensor(attended_, 1), tensor(attended_gradient_, 1),
                    {0, shape_.rows()}, rows_of(tensor(queries_gradient_, 1)),
                    rows_of(tensor(keys_values_gradient_, 2)));
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(shape_.rows()) * width_; }
  Tensor<float> tensor(const Array& array, int times) const {
    return Tensor<float>(array.data(), shape_.batch, shape_.tokens, times * width_);
  }

  Shape shape_;
  int width_;
  Core core_;
  Array queries_, keys_values_, attended_, attended_gradient_, queries_gradient_, keys_values_gradient_;
  Arena arena_;
};

/// Both passes of a core, which takes so many exponentials in each.
void add_core(const Sizes& s, const std::string& name, Core (*make)(const Sizes&), double exponentials,
              std::vector<Kernel>& kernels) {
  const Operations operations = make(s)->operations({s.batch, s.tokens});
  const double array = 4.0 * s.rows() * s.width;
  const std::string shape = fmt::format(" {}x{}, {} heads of {}", s.batch, s.tokens, s.heads, s.width / s.heads);

  const auto add = [&](const char* pass, double products, double bytes, void (Attention::*call)() const) {
    Kernel kernel;
    kernel.name = "ridgeline::" + name + "/" + pass + shape;
    kernel.operations = products + exponential_operations * exponentials;
    kernel.bytes = bytes;
    kernel.in_step = false;
    kernel.prepare = [=] {
      const auto attention = std::make_shared<Attention>(s, make(s));
      attention->forward();  // the backward pass follows one
      return [=] { (attention.get()->*call)(); };
    };
    kernels.push_back(kernel);
  };
  add("forward", operations.forward, 4 * array, &Attention::forward);
  add("backward", operations.backward, 8 * array, &Attention::backward);
}

}  // namespace

void add_attention_cores(const Sizes& s, std::vector<Kernel>& kernels) {
  const double pairs = static_cast<double>(s.batch) * s.heads * s.tokens * (s.tokens + 1.0) / 2;
  add_core(s, "softmax", softmax_core, pairs, kernels);
  add_core(s, "linear_attention", linear_core, 2.0 * s.rows() * s.width, kernels);
}

}  // namespace ridgeline::perf
