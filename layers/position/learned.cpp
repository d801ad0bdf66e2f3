// position/learned: a table with a row for each token of a training sample, all of it parameters.
//
//   value[p] = table[p]
#include <stdexcept>

#include "channels.hpp"
#include "layer/registry.hpp"

namespace ridgeline {
namespace {

/// target[i] = source[i], or target[i] + source[i] where `add`.
template <class Scalar>
void copy_or_add(Matrix<const Scalar> source, Vector<Scalar> target, bool add) {
  const Scalar* from = source.data();
  Kokkos::parallel_for(
      "ridgeline::learned_position/add", RangePolicy(0, static_cast<int>(source.size())),
      KOKKOS_LAMBDA(int i) { target(i) = (add ? target(i) : Scalar(0)) + from[i]; });
}

template <class Scalar>
class LearnedPosition final : public Position<Scalar> {
 public:
  static constexpr PositionUse use = PositionUse::channels;

  static void declare(OptionSet& options) { declare_channels(options); }

  explicit LearnedPosition(Setup<Scalar>& setup)
      : channels_(static_cast<int>(setup.options.integer("channels"))), tokens_(setup.tokens) {
    if (tokens_ < 1) throw std::logic_error("position/learned is not told how many tokens a training sample has");
    setup.parameters.declare(table_, "table", {tokens_, channels_ > 0 ? channels_ : setup.outputs},
                             Initial::normal(0, 0.02));
  }

  int channels() const override { return channels_; }
  int longest() const override { return tokens_; }
  void reserve(int, Arena&) override {}

  void forward(Matrix<Scalar> values) override {
    const Matrix<const Scalar> rows(table_.value.data(), values.extent(0), values.extent(1));
    copy_or_add<Scalar>(rows, Vector<Scalar>(values.data(), values.size()), false);
  }
  void backward(Matrix<const Scalar> dvalues) override { copy_or_add<Scalar>(dvalues, table_.gradient, true); }

 private:
  int channels_;
  int tokens_;
  Parameter<Scalar> table_;
};

RIDGELINE_REGISTER_POSITION("learned", LearnedPosition, "a table of parameters, a row for each token in training");

}  // namespace
}  // namespace ridgeline
