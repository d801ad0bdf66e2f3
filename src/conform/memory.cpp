// Checks of memory: what a layer writes, and how much of what it asks for it uses.
#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "conform/check.hpp"
#include "conform/gradient_check.hpp"
#include "conform/guarded.hpp"

namespace ridgeline::conform {
namespace {

/// A layer that has run forward and backward in guarded memory that was untouched before.
template <class Scalar>
class GuardedRun {
 public:
  explicit GuardedRun(const Case& tried)
      : sizes_(tried.sizes),
        layer_(tried.layer, tried.sizes.inputs, tried.sizes.outputs, guard_bytes),
        x_values_(rounded(some_x(tried.sizes).values)),
        dy_values_(rounded(some_dy(tried.sizes).values)),
        residual_values_(rounded(random_tokens(tried.sizes.shape, tried.sizes.outputs, 23).values)),
        x_(x_values_.size(), x_values_),
        dy_(dy_values_.size(), dy_values_),
        residual_(residual_values_.size(), residual_values_),
        y_(dy_values_.size()),
        dx_(x_values_.size()) {
    layer_.prepare({tried.sizes.shape});
    randomise(layer_.parameters(), 1);
    parameters_ = to_host<Scalar>(layer_.parameters().values());
    for (const Arena::Block* block : blocks()) Kokkos::deep_copy(block->storage, untouched);
    layer_.forward(view(x_, sizes_.inputs), view(residual_, sizes_.outputs), view(y_, sizes_.outputs));
    y_values_ = y_.values();
    layer_.backward(view(x_, sizes_.inputs), view(dy_, sizes_.outputs), view(dx_, sizes_.inputs));
  }

  std::vector<const Arena::Block*> blocks() const {
    return {&layer_.arena().kept_block(), &layer_.arena().passing_block()};
  }

  /// What was written that should not have been; empty where all is well.
  std::string trespass() {
    const char* const names[] = {"x", "the output's gradient", "the residual", "the output", "the gradient of x"};
    const GuardedNumbers<Scalar>* const numbers[] = {&x_, &dy_, &residual_, &y_, &dx_};
    for (std::size_t i = 0; i < std::size(numbers); ++i)
      if (!numbers[i]->guards_hold()) return std::string("memory beside ") + names[i];
    for (const Arena::Block* block : blocks())
      if (!guards_hold(block->storage, block->pieces))
        return std::string("memory beside what it reserved as ") + (block == blocks().front() ? "kept" : "passing");
    if (x_.values() != x_values_) return "x, which is to read only";
    if (dy_.values() != dy_values_) return "the output's gradient, which is to read only";
    if (residual_.values() != residual_values_) return "the residual, which is to read only";
    if (y_.values() != y_values_) return "the output, in the backward pass";
    if (to_host<Scalar>(layer_.parameters().values()) != parameters_) return "parameters, or memory between them";
    if (!padding_is_zero()) return "memory between the gradients of parameters";
    return "";
  }

 private:
  static std::vector<double> rounded(std::vector<double> values) {
    for (double& value : values) value = static_cast<Scalar>(value);
    return values;
  }

  Tensor<Scalar> view(const GuardedNumbers<Scalar>& numbers, int channels) const {
    return Tensor<Scalar>(numbers.data(), sizes_.shape.batch, sizes_.shape.tokens, channels);
  }

  bool padding_is_zero() {
    std::vector<double> gradients = to_host<Scalar>(layer_.parameters().gradients());
    for (const auto& entry : layer_.parameters().entries())
      std::fill_n(gradients.begin() + static_cast<std::ptrdiff_t>(entry.offset), entry.size, 0.0);
    return std::all_of(gradients.begin(), gradients.end(), [](double value) { return value == 0; });
  }

  Sizes sizes_;
  LayerAlone<Scalar> layer_;
  std::vector<double> x_values_, dy_values_, residual_values_, y_values_, parameters_;
  GuardedNumbers<Scalar> x_, dy_, residual_, y_, dx_;
};

/// Bytes of the block's pieces, and those of them that were written, by words of four.
struct Use {
  double asked = 0, used = 0;
  void add(const Arena::Block& block) {
    const std::vector<char> bytes = host_copy(block.storage);
    for (const Arena::Piece& piece : block.pieces) {
      asked += static_cast<double>(piece.size);
      for (std::size_t at = piece.begin; at < piece.begin + piece.size; at += sizeof(std::uint32_t)) {
        std::uint32_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min(sizeof word, piece.begin + piece.size - at));
        used += word == ~std::uint32_t{0} ? 0 : sizeof word;
      }
    }
  }
};

}  // namespace

Finding guard_zones(const Case& tried) {
  std::string trespass = GuardedRun<double>(tried).trespass();
  if (trespass.empty()) trespass = GuardedRun<float>(tried).trespass();
  return trespass.empty() ? passed() : failed("it writes " + trespass);
}

Finding memory(const Case& tried) {
  const GuardedRun<float> run(tried);
  Use use;
  for (const Arena::Block* block : run.blocks()) use.add(*block);
  if (use.asked == 0) return not_applicable("it asks for none");
  if (use.asked > 4 * use.used)
    return failed(fmt::format("it asks for {:.0f} bytes and writes to {:.0f} of them", use.asked, use.used),
                  use.asked / use.used);
  return passed();
}

}  // namespace ridgeline::conform
