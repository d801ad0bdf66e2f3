// Functional attention as its formulas are written, with q, k and v for every token: the cheaper order where there are
// few tokens for many basis functions. Coefficients lie as in the contracted order, [H, K, B, D].
#include <algorithm>

#include "basis_functions.hpp"
#include "core/region.hpp"
#include "functional.hpp"

namespace ridgeline::functional {
namespace {

template <class Scalar>
class DirectOrder final : public Layer<Scalar> {
 public:
  DirectOrder(const Settings& settings, Maps<Scalar>& maps, Signal signal)
      : set_(settings),
        maps_(maps),
        basis_functions_(settings.all_basis(), settings.group()),
        ridge_map_(settings.ridge, signal) {}

  void reserve(const Shape& shape, Arena& arena) override {
    shape_ = shape;
    const int hk = set_.all_basis(), hd = set_.all_width(), rows = shape.rows();
    for (Matrix<Scalar>* tokens : {&q_, &k_, &v_, &joined_}) *tokens = arena.kept<Scalar>(rows, hd);
    for (Matrix<Scalar>* phi : {&query_phi_, &key_phi_}) *phi = arena.kept<Scalar>(rows, hk);
    for (HeadRows<Scalar>* c : {&queries_, &values_, &mapped_}) *c = coefficients(arena.kept<Scalar>(rows_of_heads()));
    ridge_map_.reserve(set_.heads, set_.basis, shape.batch, set_.inputs, arena);
    for (Matrix<Scalar>* tokens : {&q_gradient_, &v_gradient_, &joined_gradient_})
      *tokens = arena.passing<Scalar>(rows, hd);
    phi_gradient_ = arena.passing<Scalar>(rows, hk);
    for (HeadRows<Scalar>* c : {&queries_gradient_, &values_gradient_, &mapped_gradient_})
      *c = coefficients(arena.passing<Scalar>(rows_of_heads()));
    basis_functions_.reserve(shape, arena);
    sums_.reserve(rows, std::max({hd, hk, set_.outputs}), arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    {
      const Region region("basis");
      project(maps_.query, rows_of(x), q_);
      project(maps_.key, rows_of(x), k_);
      project(maps_.value, rows_of(x), v_);
      evaluate_basis(maps_.query_basis, q_, query_phi_);
      evaluate_basis(maps_.key_basis, k_, key_phi_);
    }
    {
      const Region region("contraction");
      contract(query_phi_, q_, queries_);
      contract(key_phi_, v_, values_);
    }
    {
      const Region region("solve");
      ridge_map_.forward({queries_, {}, {}}, {values_, {}, {}}, mapped_);
    }
    const Region region("output");
    expand(query_phi_, mapped_, joined_, false);
    maps_.output.product(joined_, rows_of(y));
    add_bias<Scalar>(rows_of(y), maps_.output.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    {
      const Region region("output");
      sums_.add(rows_of(dy), maps_.output.bias.gradient);
      maps_.output.add_weight_gradient(joined_, rows_of(dy));
      maps_.output.input_gradient(rows_of(dy), joined_gradient_);
      contract(query_phi_, joined_gradient_, mapped_gradient_, 1);
    }
    {
      const Region region("solve");
      ridge_map_.backward({queries_, {}, {}}, {values_, {}, {}}, mapped_gradient_, {queries_gradient_, {}},
                          {values_gradient_, {}});
    }
    const Region region("basis");
    // values: Y = Φkᵀ v
    expand(key_phi_, values_gradient_, v_gradient_, true);
    project_backward(maps_.value, rows_of(x), v_gradient_, rows_of(dx), false);
    // keys: v's gradient is done with, and its memory takes k's
    phi_backward(v_, values_gradient_, true, false);
    basis_backward(maps_.key_basis, k_, key_phi_, v_gradient_, false);
    project_backward(maps_.key, rows_of(x), v_gradient_, rows_of(dx), true);
    // queries: A = Φqᵀ q, and out = Φq (C A)
    phi_backward(q_, queries_gradient_, true, false);
    phi_backward(joined_gradient_, mapped_, false, true);
    expand(query_phi_, queries_gradient_, q_gradient_, true);
    basis_backward(maps_.query_basis, q_, query_phi_, q_gradient_, true);
    project_backward(maps_.query, rows_of(x), q_gradient_, rows_of(dx), true);
  }

  Operations operations(const Shape& shape) const override {
    const double rows = shape.rows(), d = set_.inputs, hd = set_.all_width(), hk = set_.all_basis();
    const double products = rows * (3 * d * hd + 2 * hd * hk + 3 * hk * d + hd * set_.outputs);
    const int h = set_.heads, k = set_.basis;
    return {2 * products + RidgeMap<Scalar>::forward_operations(h, k, shape.batch, set_.inputs),
            4 * products + RidgeMap<Scalar>::backward_operations(h, k, shape.batch, set_.inputs)};
  }

 private:
  Scalar weight() const { return static_cast<Scalar>(set_.token_weight(shape_.tokens)); }

  std::size_t rows_of_heads() const { return static_cast<std::size_t>(set_.all_basis()) * shape_.batch * set_.inputs; }
  HeadRows<Scalar> coefficients(const Vector<Scalar>& memory) const {
    return HeadRows<Scalar>(memory.data(), set_.heads, set_.basis, shape_.batch, set_.inputs);
  }

  void project(const Linear<Scalar>& map, Matrix<const Scalar> x, Matrix<Scalar> result) const {
    map.product(x, result);
    add_bias<Scalar>(result, map.bias.value, {});
  }

  void project_backward(Linear<Scalar>& map, Matrix<const Scalar> x, Matrix<const Scalar> gradient, Matrix<Scalar> dx,
                        bool add) const {
    sums_.add(gradient, map.bias.gradient);
    map.add_weight_gradient(x, gradient);
    if (dx.data() != nullptr) map.input_gradient(gradient, dx, add);
  }

  void evaluate_basis(const Linear<Scalar>& map, Matrix<const Scalar> tokens, Matrix<Scalar> phi) const {
    map.product(tokens, phi);
    basis_functions_.forward(phi, map.bias.value, 1, {});
  }

  // dlogits from dΦ, then the basis map's gradients; its input's gradient is written or added.
  void basis_backward(Linear<Scalar>& map, Matrix<const Scalar> tokens, Matrix<const Scalar> phi,
                      Matrix<Scalar> gradient, bool add) const {
    basis_functions_.backward(phi, phi_gradient_, 1, {}, {});
    project_backward(map, tokens, phi_gradient_, gradient, add);
  }

  // For each head: result = Φᵀ tokens · weight.
  void contract(const Matrix<Scalar>& phi, const Matrix<Scalar>& tokens, const HeadRows<Scalar>& result) const {
    contract(phi, tokens, result, weight());
  }
  void contract(const Matrix<Scalar>& phi, const Matrix<Scalar>& tokens, const HeadRows<Scalar>& result,
                Scalar scale) const {
    const int hk = set_.all_basis(), hd = set_.all_width(), d = set_.inputs, n = shape_.tokens, batch = shape_.batch;
    for (int h = 0; h < set_.heads; ++h)
      gemm<Scalar>({set_.basis, d, n, batch}, {phi.data() + h * set_.basis, hk, Op::transpose, std::int64_t{n} * hk},
                   {tokens.data() + h * d, hd, Op::none, std::int64_t{n} * hd}, {row_pointer(result, h), batch * d, d},
                   {scale, 0});
  }

  // For each head: tokens = Φ coefficients, times the weight where `weighted`.
  void expand(const Matrix<Scalar>& phi, const HeadRows<Scalar>& coefficients, const Matrix<Scalar>& tokens,
              bool weighted) const {
    const int hk = set_.all_basis(), hd = set_.all_width(), d = set_.inputs, n = shape_.tokens, batch = shape_.batch;
    for (int h = 0; h < set_.heads; ++h)
      gemm<Scalar>({n, d, set_.basis, batch}, {phi.data() + h * set_.basis, hk, Op::none, std::int64_t{n} * hk},
                   {row_pointer(coefficients, h), batch * d, Op::none, d},
                   {tokens.data() + h * d, hd, std::int64_t{n} * hd}, {weighted ? weight() : Scalar(1), 0});
  }

  // For each head: dΦ = tokens coefficientsᵀ, times the weight where `weighted`; written or added.
  void phi_backward(const Matrix<Scalar>& tokens, const HeadRows<Scalar>& coefficients, bool weighted, bool add) const {
    const int hk = set_.all_basis(), hd = set_.all_width(), d = set_.inputs, n = shape_.tokens, batch = shape_.batch;
    for (int h = 0; h < set_.heads; ++h)
      gemm<Scalar>({n, set_.basis, d, batch}, {tokens.data() + h * d, hd, Op::none, std::int64_t{n} * hd},
                   {row_pointer(coefficients, h), batch * d, Op::transpose, d},
                   {phi_gradient_.data() + h * set_.basis, hk, std::int64_t{n} * hk},
                   {weighted ? weight() : Scalar(1), add ? Scalar(1) : Scalar(0)});
  }

  Settings set_;
  Maps<Scalar>& maps_;
  BasisFunctions<Scalar> basis_functions_;
  RidgeMap<Scalar> ridge_map_;
  ColumnSums<Scalar> sums_;
  Shape shape_;
  Matrix<Scalar> q_, k_, v_, joined_;  // [B·N, HD]; joined: the heads side by side
  Matrix<Scalar> q_gradient_, v_gradient_, joined_gradient_;
  Matrix<Scalar> query_phi_, key_phi_, phi_gradient_;  // [B·N, HK]
  HeadRows<Scalar> queries_, values_, mapped_;         // [H, K, B, D]: A, Y, C A
  HeadRows<Scalar> queries_gradient_, values_gradient_, mapped_gradient_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<Layer<Scalar>> direct_order(const Settings& settings, Maps<Scalar>& maps, Signal signal) {
  return std::make_unique<DirectOrder<Scalar>>(settings, maps, signal);
}

template std::unique_ptr<Layer<float>> direct_order(const Settings&, Maps<float>&, Signal);
template std::unique_ptr<Layer<double>> direct_order(const Settings&, Maps<double>&, Signal);

}  // namespace ridgeline::functional
