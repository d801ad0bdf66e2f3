// attention/functional: pairwise affinities replaced by a small linear map between learned bases.
//
//   q, k, v = x Wqᵀ+bq, x Wkᵀ+bk, x Wvᵀ+bv         Φq = σ(q Wqbᵀ + bqb), Φk = σ(k Wkbᵀ + bkb)
//   per head: A = Φqᵀ q, Y = Φkᵀ v, C = Y Aᵀ (A Aᵀ + ridge I)⁻¹, out = Φq (C A); heads side by side, then `output`
#include "functional.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include <cmath>

#include "layer/registry.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
class FunctionalAttention final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.integer("heads", 8, "heads, each as wide as the model").at_least(1).at_most(65536).trials({"1", "3"});
    options.integer("basis", 8, "basis functions of a head").at_least(1).at_most(65536).trials({"1", "5"});
    options.real("ridge", 1e-4, "weight of the regularisation of the least-squares map")
        .above(0)
        .at_most(1e100)
        .trials({"1e-2"});
    options.choice("normalization", "joint", {"joint", "per_head"},
                   "softmax of a token's basis functions: over those of all heads, or of each head");
    options.choice("inner_product", "sum", {"sum", "mean"},
                   "contractions over tokens: their sum, or their mean, which does not depend on the sampling");
    options.choice("order", "auto", {"auto", "contracted", "direct"},
                   "order of evaluation: tokens contracted first, each token projected, or the cheaper one");
  }

  static Properties properties(const OptionValues& options) {
    Properties properties;
    properties.permutation_equivariant = true;
    properties.grid_independent = options.text("inner_product") == "mean";
    return properties;
  }

  explicit FunctionalAttention(Setup<Scalar>& setup)
      : options_(setup.options),
        settings_(read(setup)),
        choice_(setup.options.text("order")),
        maps_(setup.parameters, settings_),
        contracted_(functional::contracted_order(settings_, maps_, setup.signal)),
        direct_(functional::direct_order(settings_, maps_, setup.signal)) {}

  void reserve(const Shape& shape, Arena& arena) override {
    const double coefficients = 2.0 * settings_.heads * settings_.basis * shape.batch;
    if (coefficients > std::numeric_limits<int>::max())
      throw options_.mistake("basis", fmt::format("makes {:.3g} coefficients of {} heads in a batch of {} samples, "
                                                  "more than can be indexed.",
                                                  coefficients, settings_.heads, shape.batch));
    order_ = &order(shape);
    order_->reserve(shape, arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    order_->forward(x, residual, y);
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    order_->backward(x, dy, dx);
  }

  Operations operations(const Shape& shape) const override { return order(shape).operations(shape); }

  std::string explain(const Signal::Content& content) const override {
    const std::string where = fmt::format("sample {}, head {} of the batch", content.where / settings_.heads,
                                          content.where % settings_.heads);
    if (std::isnan(content.number))
      return fmt::format(
          "the ridge solve of {} was given values that are not finite (smallest pivot nan): the data are too large, or "
          "training has diverged, where a smaller `learning_rate` or a `gradient_clip` helps",
          where);
    return fmt::format("the ridge solve broke down in {} (smallest pivot {:.3g}); a larger `ridge` than {:g} may help",
                       where, content.number, settings_.ridge);
  }

 private:
  static functional::Settings read(const Setup<Scalar>& setup) {
    const OptionValues& options = setup.options;
    // Queries' and keys' basis functions stand side by side, and their gradients beside them.
    const auto columns = static_cast<double>(options.integer("heads")) *
                         static_cast<double>(std::max<std::int64_t>(setup.inputs, 4 * options.integer("basis")));
    if (columns > std::numeric_limits<int>::max())
      throw options.mistake("heads", fmt::format("makes {:.3g} columns, more than can be indexed.", columns));
    const int basis = static_cast<int>(options.integer("basis"));
    const double scratch = RidgeMap<Scalar>::scratch_bytes(basis, setup.inputs);
    if (scratch > RidgeMap<Scalar>::largest_scratch_bytes())
      throw options.mistake(
          "basis", fmt::format("takes {:.3g} MiB for each small system at a width of {}; at most "
                               "{:.3g} MiB can be had.",
                               scratch / 0x1p20, setup.inputs, RidgeMap<Scalar>::largest_scratch_bytes() / 0x1p20));
    return {setup.inputs,
            setup.outputs,
            static_cast<int>(options.integer("heads")),
            static_cast<int>(options.integer("basis")),
            options.real("ridge"),
            options.text("normalization") == "joint",
            options.text("inner_product") == "mean"};
  }

  Layer<Scalar>& order(const Shape& shape) const {
    if (choice_ == "direct") return *direct_;
    if (choice_ == "contracted") return *contracted_;
    const Operations contracted = contracted_->operations(shape), direct = direct_->operations(shape);
    const bool cheaper = direct.forward + direct.backward < contracted.forward + contracted.backward;
    return cheaper ? *direct_ : *contracted_;
  }

  OptionValues options_;
  functional::Settings settings_;
  std::string choice_;
  functional::Maps<Scalar> maps_;
  std::unique_ptr<Layer<Scalar>> contracted_;
  std::unique_ptr<Layer<Scalar>> direct_;
  Layer<Scalar>* order_ = nullptr;
};

RIDGELINE_REGISTER_LAYER("attention", "functional", FunctionalAttention,
                         "a linear map between learned bases, found by ridge regression (arXiv 2605.31559)");

}  // namespace
}  // namespace ridgeline
