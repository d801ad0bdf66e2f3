// An activation is one function of one number, with its slope; everything around it is written here once.
#pragma once

#include "layer/registry.hpp"
#include "math/elementary.hpp"
#include "math/rows.hpp"

namespace ridgeline {

/// The activation whose value and slope `Function::apply(z)` computes, on the device.
template <class Scalar, class Function>
class PointwiseActivation final : public Activation<Scalar> {
 public:
  void apply(Matrix<const Scalar> z, Vector<const Scalar> bias, Matrix<Scalar> value,
             Matrix<Scalar> slope) const override {
    launch(z, bias, value, slope);
  }

  // Static, so that the kernel captures no `this`.
  static void launch(Matrix<const Scalar> z, Vector<const Scalar> bias, Matrix<Scalar> value, Matrix<Scalar> slope) {
    const int columns = extent(z, 1);
    const Chunks chunks(extent(z, 0));
    Kokkos::parallel_for(
        "ridgeline::activation", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
          const int chunk = team.league_rank();
          const Scalar* b = bias.data();
          for (int row = chunks.begin(chunk); row < chunks.end(chunk); ++row) {
            const Scalar* in = &z(row, 0);
            Scalar* v = &value(row, 0);
            Scalar* s = &slope(row, 0);
            for_lanes(team, columns, [=](int j) {
              const ValueAndSlope<Scalar> result = Function::apply(in[j] + b[j]);
              v[j] = result.value;
              s[j] = result.slope;
            });
          }
        });
  }
};

/// Registers a function for both precisions.
template <class Function>
struct ActivationRegistration {
  ActivationRegistration(const char* name, const char* summary) noexcept {
    Registry::announce(
        {"activation", name, summary, [](LayerEntry& entry) {
           entry.make_activation_float = [] { return std::make_unique<PointwiseActivation<float, Function>>(); };
           entry.make_activation_double = [] { return std::make_unique<PointwiseActivation<double, Function>>(); };
         }});
  }
};

#define RIDGELINE_REGISTER_ACTIVATION(name, Function, summary) \
  static const ::ridgeline::ActivationRegistration<Function> Function##_registration(name, summary)

}  // namespace ridgeline
