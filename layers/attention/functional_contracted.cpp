// Functional attention with the tokens contracted first. Between the projection and the basis logits there is no
// nonlinearity, and the basis contracts the tokens before anything else touches q and v, so that:
//
//   logits = x Mᵀ + m,  M = Wqb Wq, m = Wqb bq + bqb        folded once a call; keys likewise: k is needed nowhere
//   P = Φᵀ x, s = Φᵀ 1,  A = P Wqᵀ + s bqᵀ,  Y likewise      a row for each basis function is projected, not each token
//   y = Φq F + bo,  F = (C A) Woᵀ by head                    one product over the basis functions of all heads
//
// Shapes: x [B, N, D], Φ [B·N, 2HK] (queries' columns first), P [2HK, B, D], so that a head's rows are one matrix.
#include "basis_functions.hpp"
#include "core/region.hpp"
#include "functional.hpp"

namespace ridgeline::functional {
namespace {

/// Of one of the two maps that are folded: the basis map's weight [HK, HD] and bias, and the bias before it [HD].
template <class Scalar>
struct Folding {
  Scalar *weight, *bias, *inner_bias;
};

/// m = W b + c of both maps, one after the other: a team for each basis function.
template <class Scalar>
struct FoldBiases {
  Folding<const Scalar> queries, keys;
  int basis, inner;
  Scalar* folded;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const bool second = team.league_rank() >= basis;
    const Folding<const Scalar>& from = second ? keys : queries;
    const int row = team.league_rank() - (second ? basis : 0);
    const Scalar *weight = from.weight + std::int64_t{row} * inner, *bias = from.inner_bias;
    const Scalar sum = sum_lanes(team, inner, [=](int c) { return weight[c] * bias[c]; });
    Scalar* out = folded + team.league_rank();
    const Scalar own = from.bias[row];
    Kokkos::single(Kokkos::PerTeam(team), [=]() { *out = sum + own; });
  }
};

/// From dm: dW += dm bᵀ, db += Wᵀ dm, dc += dm, of both maps; a team for some of the columns of W.
template <class Scalar>
struct UnfoldBiases {
  static constexpr int width = 64;
  Folding<const Scalar> queries, keys;
  Folding<Scalar> queries_gradient, keys_gradient;
  int basis, inner;
  const Scalar* folded_gradient;

  int tiles() const { return (inner + width - 1) / width; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const int tile = team.league_rank() / 2, begin = tile * width,
              count = inner - begin < width ? inner - begin : width;
    const bool second = team.league_rank() % 2 > 0;
    const Folding<const Scalar>& map = second ? keys : queries;
    const Folding<Scalar>& gradient = second ? keys_gradient : queries_gradient;
    const Scalar *dm = folded_gradient + (second ? basis : 0), *bias = map.inner_bias + begin;
    Scalar* dbias = gradient.inner_bias + begin;
    for (int row = 0; row < basis; ++row) {
      const Scalar *weight = map.weight + std::int64_t{row} * inner + begin, own = dm[row];
      Scalar* dweight = gradient.weight + std::int64_t{row} * inner + begin;
      for_lanes(team, count, [=](int c) {
        dweight[c] += own * bias[c];
        dbias[c] += own * weight[c];
      });
    }
    Scalar* dbasis = gradient.bias;
    if (tile == 0) for_lanes(team, basis, [=](int row) { dbasis[row] += dm[row]; });
  }
};

template <class Scalar>
class ContractedOrder final : public Layer<Scalar> {
 public:
  ContractedOrder(const Settings& settings, Maps<Scalar>& maps, Signal signal)
      : set_(settings),
        maps_(maps),
        basis_functions_(2 * settings.all_basis(), settings.group()),
        ridge_map_(settings.ridge, signal) {}

  void reserve(const Shape& shape, Arena& arena) override {
    shape_ = shape;
    const int hk = set_.all_basis(), d = set_.inputs, rows = shape.rows(), batch = shape.batch;
    phi_ = arena.kept<Scalar>(rows, 2 * hk);
    folded_ = arena.kept<Scalar>(2 * hk, d);
    folded_bias_ = arena.kept<Scalar>(2 * hk);
    contracted_ = arena.kept<Scalar>(2 * hk, batch, d);
    sums_ = arena.kept<Scalar>(2 * hk, batch);
    coefficients_ = arena.kept<Scalar>(2 * hk, batch, d);
    mapped_ = arena.kept<Scalar>(hk, batch, d);
    synthesis_ = arena.kept<Scalar>(hk, batch, apart(set_.outputs, batch));
    ridge_map_.reserve(set_.heads, set_.basis, batch, d, arena);
    phi_gradient_ = arena.passing<Scalar>(rows, 2 * hk);
    folded_gradient_ = arena.passing<Scalar>(2 * hk, d);
    folded_bias_gradient_ = arena.passing<Scalar>(2 * hk);
    contracted_gradient_ = arena.passing<Scalar>(2 * hk, batch, apart(d, batch));
    sums_gradient_ = arena.passing<Scalar>(2 * hk, batch);
    coefficients_gradient_ = arena.passing<Scalar>(2 * hk, batch, d);
    mapped_gradient_ = arena.passing<Scalar>(hk, batch, d);
    synthesis_gradient_ = arena.passing<Scalar>(hk, batch, set_.outputs);
    basis_functions_.reserve(shape, arena);
    output_sums_.reserve(rows, set_.outputs, arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    {
      const Region region("basis");
      fold(maps_.query, maps_.query_basis, 0);
      fold(maps_.key, maps_.key_basis, set_.all_basis());
      fold_biases();
      evaluate_basis(x);
    }
    {
      const Region region("contraction");
      contract(x);
      project(maps_.query, 0);
      project(maps_.value, set_.all_basis());
    }
    {
      const Region region("solve");
      ridge_map_.forward(queries(), values(), heads_of(mapped_, 0));
    }
    const Region region("output");
    synthesise(y);
    add_bias<Scalar>(rows_of(y), maps_.output.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    {
      const Region region("output");
      output_backward(dy);
    }
    {
      const Region region("solve");
      ridge_map_.backward(queries(), values(), read_heads(mapped_gradient_, 0), gradients(0),
                          gradients(set_.all_basis()));
    }
    {
      const Region region("contraction");
      project_backward(maps_.query, 0);
      project_backward(maps_.value, set_.all_basis());
      contract_backward(x, dy);
    }
    const Region region("basis");
    basis_functions_.backward(phi_, phi_gradient_, weight(), sums_gradient_, folded_bias_gradient_);
    basis_backward(x, dx);
    fold_backward(maps_.query, maps_.query_basis, 0);
    fold_backward(maps_.key, maps_.key_basis, set_.all_basis());
    fold_biases_backward();
  }

  Operations operations(const Shape& shape) const override {
    const double rows = shape.rows(), batch = shape.batch, d = set_.inputs, o = set_.outputs, hk = set_.all_basis();
    const double folding_biases = 2 * hk * set_.all_width(), folding = folding_biases * (d + 1);
    const double tokens = rows * 2 * hk * d;  // logits; contraction: the same again
    const double projections = 2 * hk * batch * d * d + hk * batch * d * o;
    const double biases = 2 * hk * batch * d;
    const double output = rows * hk * o;
    const int h = set_.heads, k = set_.basis;
    return {2 * (folding + 2 * tokens + projections + output) +
                RidgeMap<Scalar>::forward_operations(h, k, shape.batch, set_.inputs),
            2 * (2 * folding + 4 * tokens + 2 * projections + biases + 2 * output) +
                RidgeMap<Scalar>::backward_operations(h, k, shape.batch, set_.inputs),
            2 * folding_biases, 4 * folding_biases};
  }

 private:
  /// Room for so many channels in an array [basis, B, channels] of which products read one sample's rows, B·channels from
  /// one to the next. Where that is a multiple of a large power of two, all of them fall on the same few lines of a
  /// cache; of a batch that is one, whatever the room.
  static int apart(int channels, int batch) {
    constexpr int line = 64 / sizeof(Scalar), few = 1024 / sizeof(Scalar);
    const auto falls_together = [=](int room) { return std::int64_t{room} * batch % few == 0; };
    int more = 0;
    for (int next = line; falls_together(channels + more) && next > 0; next /= 2) more = next;
    return falls_together(channels + more) ? channels : channels + more;
  }

  Scalar weight() const { return static_cast<Scalar>(set_.token_weight(shape_.tokens)); }

  // Head rows [H, K, B, D] of an array [.., B, D], from its row `first` on.
  HeadRows<Scalar> heads_of(const Tensor<Scalar>& array, int first) const {
    return HeadRows<Scalar>(row_pointer(array, first), set_.heads, set_.basis, array.extent(1), array.extent(2));
  }
  HeadRows<const Scalar> read_heads(const Tensor<Scalar>& array, int first) const { return heads_of(array, first); }
  View<Scalar***> head_sums(const Matrix<Scalar>& array, int first) const {
    return View<Scalar***>(row_pointer(array, first), set_.heads, set_.basis, array.extent(1));
  }
  Matrix<const Scalar> head_bias(const Linear<Scalar>& map) const {
    return Matrix<const Scalar>(map.bias.value.data(), set_.heads, set_.inputs);
  }
  Coefficients<Scalar> queries() const {
    return {heads_of(coefficients_, 0), head_sums(sums_, 0), head_bias(maps_.query)};
  }
  Coefficients<Scalar> values() const {
    const int hk = set_.all_basis();
    return {heads_of(coefficients_, hk), head_sums(sums_, hk), head_bias(maps_.value)};
  }
  CoefficientGradients<Scalar> gradients(int first) const {
    return {heads_of(coefficients_gradient_, first), head_sums(sums_gradient_, first)};
  }

  // ---- forward ----

  void fold(const Linear<Scalar>& projection, const Linear<Scalar>& basis, int first) const {
    const int hk = set_.all_basis(), hd = set_.all_width(), d = set_.inputs;
    gemm<Scalar>({hk, d, hd}, {basis.weight.value.data(), hd}, {projection.weight.value.data(), d},
                 {row_pointer(folded_, first), d});
  }

  static Folding<const Scalar> folding(const Linear<Scalar>& projection, const Linear<Scalar>& basis) {
    return {basis.weight.value.data(), basis.bias.value.data(), projection.bias.value.data()};
  }
  static Folding<Scalar> folding_gradient(const Linear<Scalar>& projection, const Linear<Scalar>& basis) {
    return {basis.weight.gradient.data(), basis.bias.gradient.data(), projection.bias.gradient.data()};
  }

  void fold_biases() const {
    const int hk = set_.all_basis(), hd = set_.all_width();
    Kokkos::parallel_for("ridgeline::functional/fold_biases", one_team_each(2 * hk),
                         FoldBiases<Scalar>{folding(maps_.query, maps_.query_basis),
                                            folding(maps_.key, maps_.key_basis), hk, hd, folded_bias_.data()});
  }

  void evaluate_basis(const Tensor<const Scalar>& x) const {
    const int all = 2 * set_.all_basis(), d = set_.inputs;
    gemm<Scalar>({shape_.rows(), all, d}, {x.data(), d}, {folded_.data(), d, Op::transpose}, {phi_.data(), all});
    basis_functions_.forward(phi_, folded_bias_, weight(), sums_);
  }

  void contract(const Tensor<const Scalar>& x) const {
    const int all = 2 * set_.all_basis(), d = set_.inputs, n = shape_.tokens, batch = shape_.batch;
    gemm<Scalar>({all, d, n, batch}, {phi_.data(), all, Op::transpose, std::int64_t{n} * all},
                 {x.data(), d, Op::none, std::int64_t{n} * d}, {contracted_.data(), batch * d, d}, {weight(), 0});
  }

  void project(const Linear<Scalar>& map, int first) const {
    const int d = set_.inputs, rows = set_.basis * shape_.batch;
    const std::int64_t stride = std::int64_t{rows} * d;
    gemm<Scalar>({rows, d, d, set_.heads}, {row_pointer(contracted_, first), d, Op::none, stride},
                 {map.weight.value.data(), d, Op::transpose, std::int64_t{d} * d},
                 {row_pointer(coefficients_, first), d, stride});
  }

  void synthesise(const Tensor<Scalar>& y) const {
    const int d = set_.inputs, o = set_.outputs, hk = set_.all_basis(), n = shape_.tokens, batch = shape_.batch;
    const int rows = set_.basis * batch, apart_o = extent(synthesis_, 2);
    gemm<Scalar>({rows, o, d, set_.heads}, {mapped_.data(), d, Op::none, std::int64_t{rows} * d},
                 {maps_.output.weight.value.data(), set_.all_width(), Op::transpose, d},
                 {synthesis_.data(), apart_o, std::int64_t{rows} * apart_o});
    gemm<Scalar>({n, o, hk, batch}, {phi_.data(), 2 * hk, Op::none, std::int64_t{n} * 2 * hk},
                 {synthesis_.data(), batch * apart_o, Op::none, apart_o}, {y.data(), o, std::int64_t{n} * o});
  }

  // ---- backward, in the opposite order ----

  void output_backward(const Tensor<const Scalar>& dy) {
    const int d = set_.inputs, o = set_.outputs, hk = set_.all_basis(), hd = set_.all_width(), n = shape_.tokens;
    const int batch = shape_.batch, rows = set_.basis * batch;
    output_sums_.add(rows_of(dy), maps_.output.bias.gradient);
    gemm<Scalar>({hk, o, n, batch}, {phi_.data(), 2 * hk, Op::transpose, std::int64_t{n} * 2 * hk},
                 {dy.data(), o, Op::none, std::int64_t{n} * o}, {synthesis_gradient_.data(), batch * o, o});
    gemm<Scalar>({o, d, rows, set_.heads}, {synthesis_gradient_.data(), o, Op::transpose, std::int64_t{rows} * o},
                 {mapped_.data(), d, Op::none, std::int64_t{rows} * d}, {maps_.output.weight.gradient.data(), hd, d},
                 {1, maps_.output.weight.gradient_factor()});
    gemm<Scalar>({rows, d, o, set_.heads}, {synthesis_gradient_.data(), o, Op::none, std::int64_t{rows} * o},
                 {maps_.output.weight.value.data(), hd, Op::none, d},
                 {mapped_gradient_.data(), d, std::int64_t{rows} * d});
  }

  void project_backward(Linear<Scalar>& map, int first) const {
    const int d = set_.inputs, rows = set_.basis * shape_.batch, apart_d = extent(contracted_gradient_, 2);
    const std::int64_t stride = std::int64_t{rows} * d;
    const Scalar* gradient = row_pointer(coefficients_gradient_, first);
    gemm<Scalar>({d, d, rows, set_.heads}, {gradient, d, Op::transpose, stride},
                 {row_pointer(contracted_, first), d, Op::none, stride},
                 {map.weight.gradient.data(), d, std::int64_t{d} * d}, {1, map.weight.gradient_factor()});
    gemm<Scalar>({1, d, rows, set_.heads}, {row_pointer(sums_, first), rows, Op::none, rows},
                 {gradient, d, Op::none, stride}, {map.bias.gradient.data(), d, d}, {1, 1});
    gemm<Scalar>({rows, d, d, set_.heads}, {gradient, d, Op::none, stride},
                 {map.weight.value.data(), d, Op::none, std::int64_t{d} * d},
                 {row_pointer(contracted_gradient_, first), apart_d, std::int64_t{rows} * apart_d});
  }

  // dΦ = x dPᵀ, and for the queries + dy Fᵀ.
  void contract_backward(const Tensor<const Scalar>& x, const Tensor<const Scalar>& dy) const {
    const int d = set_.inputs, o = set_.outputs, hk = set_.all_basis(), n = shape_.tokens, batch = shape_.batch;
    const int apart_d = extent(contracted_gradient_, 2), apart_o = extent(synthesis_, 2);
    const std::int64_t stride = std::int64_t{n} * 2 * hk;
    gemm<Scalar>({n, 2 * hk, d, batch}, {x.data(), d, Op::none, std::int64_t{n} * d},
                 {contracted_gradient_.data(), batch * apart_d, Op::transpose, apart_d},
                 {phi_gradient_.data(), 2 * hk, stride}, {weight(), 0});
    gemm<Scalar>({n, hk, o, batch}, {dy.data(), o, Op::none, std::int64_t{n} * o},
                 {synthesis_.data(), batch * apart_o, Op::transpose, apart_o}, {phi_gradient_.data(), 2 * hk, stride},
                 {1, 1});
  }

  // dM = dlogitsᵀ x; dx = dlogits M + Φ dP.
  void basis_backward(const Tensor<const Scalar>& x, const Tensor<Scalar>& dx) const {
    const int all = 2 * set_.all_basis(), d = set_.inputs, n = shape_.tokens, batch = shape_.batch;
    const int apart_d = extent(contracted_gradient_, 2);
    gemm<Scalar>({all, d, shape_.rows()}, {phi_gradient_.data(), all, Op::transpose}, {x.data(), d},
                 {folded_gradient_.data(), d});
    if (dx.data() == nullptr) return;
    gemm<Scalar>({shape_.rows(), d, all}, {phi_gradient_.data(), all}, {folded_.data(), d}, {dx.data(), d});
    gemm<Scalar>({n, d, all, batch}, {phi_.data(), all, Op::none, std::int64_t{n} * all},
                 {contracted_gradient_.data(), batch * apart_d, Op::none, apart_d}, {dx.data(), d, std::int64_t{n} * d},
                 {weight(), 1});
  }

  // dWqb += dM Wqᵀ; dWq += Wqbᵀ dM.
  void fold_backward(Linear<Scalar>& projection, Linear<Scalar>& basis, int first) const {
    const int hk = set_.all_basis(), hd = set_.all_width(), d = set_.inputs;
    const Scalar* gradient = row_pointer(folded_gradient_, first);
    gemm<Scalar>({hk, hd, d}, {gradient, d}, {projection.weight.value.data(), d, Op::transpose},
                 {basis.weight.gradient.data(), hd}, {1, basis.weight.gradient_factor()});
    gemm<Scalar>({hd, d, hk}, {basis.weight.value.data(), hd, Op::transpose}, {gradient, d},
                 {projection.weight.gradient.data(), d}, {1, projection.weight.gradient_factor()});
  }

  // dWqb += dm bqᵀ; dbqb += dm; dbq += Wqbᵀ dm.
  void fold_biases_backward() const {
    const int hk = set_.all_basis(), hd = set_.all_width();
    const UnfoldBiases<Scalar> kernel{folding(maps_.query, maps_.query_basis),
                                      folding(maps_.key, maps_.key_basis),
                                      folding_gradient(maps_.query, maps_.query_basis),
                                      folding_gradient(maps_.key, maps_.key_basis),
                                      hk,
                                      hd,
                                      folded_bias_gradient_.data()};
    Kokkos::parallel_for("ridgeline::functional/fold_biases_backward", one_team_each(2 * kernel.tiles()), kernel);
  }

  Settings set_;
  Maps<Scalar>& maps_;
  BasisFunctions<Scalar> basis_functions_;
  RidgeMap<Scalar> ridge_map_;
  ColumnSums<Scalar> output_sums_;
  Shape shape_;
  Matrix<Scalar> phi_, phi_gradient_;                    // [B·N, 2HK]; dΦ becomes dlogits
  Matrix<Scalar> folded_, folded_gradient_;              // [2HK, D]: M
  Vector<Scalar> folded_bias_, folded_bias_gradient_;    // [2HK]: m
  Tensor<Scalar> contracted_, contracted_gradient_;      // [2HK, B, D]: P; of the gradient, D as `apart` says
  Matrix<Scalar> sums_, sums_gradient_;                  // [2HK, B]: s
  Tensor<Scalar> coefficients_, coefficients_gradient_;  // [2HK, B, D]: A, then Y, without the biases
  Tensor<Scalar> mapped_, mapped_gradient_;              // [HK, B, D]: C A
  Tensor<Scalar> synthesis_, synthesis_gradient_;        // [HK, B, outputs]: F, outputs as `apart` says; its gradient
};

}  // namespace

template <class Scalar>
std::unique_ptr<Layer<Scalar>> contracted_order(const Settings& settings, Maps<Scalar>& maps, Signal signal) {
  return std::make_unique<ContractedOrder<Scalar>>(settings, maps, signal);
}

template std::unique_ptr<Layer<float>> contracted_order(const Settings&, Maps<float>&, Signal);
template std::unique_ptr<Layer<double>> contracted_order(const Settings&, Maps<double>&, Signal);

}  // namespace ridgeline::functional
