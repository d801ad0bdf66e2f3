// position/tisa: translation-invariant self-attention (Wennberg and Henter 2021), a bias of the scores that depends on
// the distance from query to key alone: for each head a sum of bells.
//
//   f_h(d) = Σ_s a_sh exp(-|b_sh| (c_sh - d)²),  d = j - i for query i and key j
//
// Parameters are `offsets` c, `amplitudes` a and `sharpness` b, all [kernels, heads].
#include <cmath>

#include "layer/registry.hpp"
#include "math/elementary.hpp"
#include "math/rows.hpp"

namespace ridgeline {
namespace {

/// What a bell is made of, on the device: c, a, b [kernels · heads], head fastest.
template <class Scalar>
struct Bells {
  Vector<const Scalar> offsets, amplitudes, sharpness;

  /// exp(-|b| (c - d)²)
  KOKKOS_INLINE_FUNCTION static Scalar height(Scalar offset, Scalar sharpness, int distance) {
    const Scalar from_top = offset - static_cast<Scalar>(distance);
    return exponential(-std::fabs(sharpness) * from_top * from_top);
  }
};

/// values[h, N-1+d] = f_h(d)
template <class Scalar>
void add_up(const Bells<Scalar>& bells, int kernels, Matrix<Scalar> values) {
  constexpr int piece = 512;  // of distances, for a team
  const int heads = extent(values, 0), distances = extent(values, 1), pieces = (distances + piece - 1) / piece;
  Kokkos::parallel_for(
      "ridgeline::tisa", one_team_each(heads * pieces), KOKKOS_LAMBDA(const Team& team) {
        const int head = team.league_rank() / pieces, begin = team.league_rank() % pieces * piece;
        const int count = begin + piece < distances ? piece : distances - begin, first = begin - distances / 2;
        Scalar* row = &values(head, begin);
        for_lanes(team, count, [=](int i) { row[i] = 0; });
        for (int s = 0; s < kernels; ++s) {
          const Scalar offset = bells.offsets(s * heads + head), amplitude = bells.amplitudes(s * heads + head),
                       sharpness = bells.sharpness(s * heads + head);
          for_lanes(team, count,
                    [=](int i) { row[i] += amplitude * Bells<Scalar>::height(offset, sharpness, first + i); });
        }
      });
}

/// Adds dL/dc, dL/da and dL/db to the gradients, from dL/dvalues [heads, 2 N - 1].
template <class Scalar>
void add_gradients(const Bells<Scalar>& bells, int kernels, Matrix<const Scalar> dvalues, Vector<Scalar> doffsets,
                   Vector<Scalar> damplitudes, Vector<Scalar> dsharpness) {
  const int heads = extent(dvalues, 0), distances = extent(dvalues, 1), middle = distances / 2;
  Kokkos::parallel_for(
      "ridgeline::tisa/backward", one_team_each(kernels * heads), KOKKOS_LAMBDA(const Team& team) {
        const int bell = team.league_rank();
        const Scalar offset = bells.offsets(bell), sharpness = bells.sharpness(bell);
        const Scalar* row = &dvalues(bell % heads, 0);
        // Σ_d g(d) height(d) (c - d)^k, in double: there are as many terms as distances
        const double sum = sum_lanes(team, distances, [=](int i) {
          return static_cast<double>(row[i] * Bells<Scalar>::height(offset, sharpness, i - middle));
        });
        const double first = sum_lanes(team, distances, [=](int i) {
          const Scalar from_top = offset - static_cast<Scalar>(i - middle);
          return static_cast<double>(row[i] * Bells<Scalar>::height(offset, sharpness, i - middle) * from_top);
        });
        const double second = sum_lanes(team, distances, [=](int i) {
          const Scalar from_top = offset - static_cast<Scalar>(i - middle);
          return static_cast<double>(row[i] * Bells<Scalar>::height(offset, sharpness, i - middle) * from_top *
                                     from_top);
        });
        Kokkos::single(Kokkos::PerTeam(team), [=] {
          const double amplitude = bells.amplitudes(bell), sign = sharpness < 0 ? -1 : sharpness > 0 ? 1 : 0;
          damplitudes(bell) += static_cast<Scalar>(sum);
          doffsets(bell) += static_cast<Scalar>(-2 * std::fabs(static_cast<double>(sharpness)) * amplitude * first);
          dsharpness(bell) += static_cast<Scalar>(-sign * amplitude * second);
        });
      });
}

template <class Scalar>
class TisaPosition final : public Position<Scalar> {
 public:
  static constexpr PositionUse use = PositionUse::bias;

  static void declare(OptionSet& options) {
    options.integer("kernels", 5, "bells that add up to a head's bias; 0: no bias")
        .at_least(0)
        .at_most(10000)
        .trials({"0", "1", "8"});
  }

  explicit TisaPosition(Setup<Scalar>& setup) : kernels_(static_cast<int>(setup.options.integer("kernels"))) {
    if (kernels_ == 0) return;
    const std::vector<int> shape{kernels_, setup.outputs};
    setup.parameters.declare(offsets_, "offsets", shape, Initial::normal(0, 5));
    setup.parameters.declare(amplitudes_, "amplitudes", shape, Initial::normal(0.1, 0.01));
    setup.parameters.declare(sharpness_, "sharpness", shape, Initial::normal(0.1, 0.01));
  }

  void reserve(int, Arena&) override {}
  void forward(Matrix<Scalar> values) override { add_up(bells(), kernels_, values); }
  void backward(Matrix<const Scalar> dvalues) override {
    if (kernels_ > 0)
      add_gradients<Scalar>(bells(), kernels_, dvalues, offsets_.gradient, amplitudes_.gradient, sharpness_.gradient);
  }

 private:
  Bells<Scalar> bells() const { return {offsets_.value, amplitudes_.value, sharpness_.value}; }

  int kernels_;
  Parameter<Scalar> offsets_, amplitudes_, sharpness_;
};

RIDGELINE_REGISTER_POSITION("tisa", TisaPosition, "a bias of attention's scores: bells over the distance");

}  // namespace
}  // namespace ridgeline
