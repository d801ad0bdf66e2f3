// position/alibi: attention with linear biases (Press, Smith and Lewis 2022, arXiv:2108.12409), a bias of the scores
// that falls in proportion to the distance from query to key, each head with a slope of its own. Here the slopes are
// parameters.
//
//   f_h(d) = -s_h |d|
//
// Like position/tisa it serves every layer with an option `position`.
#include <cmath>

#include "layer/registry.hpp"
#include "math/rows.hpp"

namespace {

using namespace ridgeline;

/// values[h, N-1+d] = -s_h |d|
template <class Scalar>
void fall(Vector<const Scalar> slopes, Matrix<Scalar> values) {
  const int distances = extent(values, 1), middle = distances / 2;
  Kokkos::parallel_for(
      "alibi::fall", RangePolicy(0, extent(values, 0) * distances), KOKKOS_LAMBDA(int i) {
        const int head = i / distances, at = i % distances;
        values(head, at) = -slopes(head) * static_cast<Scalar>(at < middle ? middle - at : at - middle);
      });
}

/// ds_h -= Σ_d |d| dvalues[h, N-1+d]
template <class Scalar>
void add_gradient(Matrix<const Scalar> dvalues, Vector<Scalar> dslopes) {
  const int distances = extent(dvalues, 1), middle = distances / 2;
  Kokkos::parallel_for(
      "alibi::add_gradient", one_team_each(extent(dvalues, 0)), KOKKOS_LAMBDA(const Team& team) {
        const int head = team.league_rank();
        const Scalar* row = &dvalues(head, 0);
        const double sum = sum_lanes(team, distances, [=](int at) {
          return static_cast<double>(row[at]) * (at < middle ? middle - at : at - middle);
        });
        Kokkos::single(Kokkos::PerTeam(team), [=] { dslopes(head) -= static_cast<Scalar>(sum); });
      });
}

template <class Scalar>
class AlibiPosition final : public Position<Scalar> {
 public:
  static constexpr PositionUse use = PositionUse::bias;

  static void declare(OptionSet& options) {
    options.real("steepest", 0.5, "initial slopes are drawn uniformly between 0 and this").above(0).trials({"2"});
  }

  explicit AlibiPosition(Setup<Scalar>& setup) {
    setup.parameters.declare(slopes_, "slopes", {setup.outputs}, Initial::uniform(0, setup.options.real("steepest")));
  }

  void reserve(int, Arena&) override {}
  void forward(Matrix<Scalar> values) override { fall<Scalar>(slopes_.value, values); }
  void backward(Matrix<const Scalar> dvalues) override { add_gradient<Scalar>(dvalues, slopes_.gradient); }

 private:
  Parameter<Scalar> slopes_;
};

RIDGELINE_REGISTER_POSITION("alibi", AlibiPosition, "a bias of attention's scores: slopes over the distance");

}  // namespace
