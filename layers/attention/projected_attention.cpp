#include "projected_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/text.hpp"
#include "core/region.hpp"
#include "layer/score_bias.hpp"

namespace ridgeline {

void declare_attention_options(OptionSet& options, const AttentionOptions& which) {
  constexpr int most = 1 << 24;
  options.integer("heads", 1, "heads, which share the channels in equal parts")
      .at_least(1)
      .at_most(65536)
      .trials({"2", "3"});
  options.integer("embed", 0, "channels of queries and keys; without this, the layer's inputs")
      .optional()
      .at_least(1)
      .at_most(most)
      .trials({"6"});
  options.integer("out", 0, "channels of values; without this, the layer's outputs")
      .optional()
      .at_least(1)
      .at_most(most)
      .trials({"10"});
  options.integer("extra_channels", 0, "channels of a token that enter its key and value only, given by the task")
      .at_least(0)
      .at_most(most)
      .trials({"24"});
  if (which.causal) options.flag("mask_center", false, "whether a token does not look at itself");
  options.choice("output_projection", which.output_projection, {"yes", "no", "auto"},
                 "a linear map after the heads; auto: where there are several");
  if (which.scores) declare_score_bias(options);
}

namespace {

/// Every divisor of a number above 0, in order.
std::vector<std::string> divisors(int number) {
  std::vector<std::string> small, large;
  for (int i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    small.push_back(std::to_string(i));
    if (i != number / i) large.push_back(std::to_string(number / i));
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

bool projects(const OptionValues& options) {
  const std::string& choice = options.text("output_projection");
  return choice == "yes" || (choice == "auto" && options.integer("heads") > 1);
}

int given_or(const OptionValues& options, const char* name, int standard) {
  return options.has(name) ? static_cast<int>(options.integer(name)) : standard;
}

}  // namespace

AttentionSizes attention_sizes(int inputs, int outputs, const OptionValues& options) {
  AttentionSizes sizes{};
  sizes.inputs = inputs;
  sizes.extra = static_cast<int>(options.integer("extra_channels"));
  sizes.outputs = outputs;
  sizes.embed = given_or(options, "embed", inputs);
  sizes.out = given_or(options, "out", outputs);
  sizes.heads = static_cast<int>(options.integer("heads"));
  sizes.projected = projects(options);
  sizes.mask_center = options.options().find("mask_center") != nullptr && options.flag("mask_center");
  if (sizes.embed % sizes.heads != 0 || sizes.out % sizes.heads != 0)
    throw options.mistake(
        "heads", fmt::format("does not divide both `embed`, {}, and `out`, {}; {} would.", sizes.embed, sizes.out,
                             join(divisors(std::gcd(sizes.embed, sizes.out)), ", ")));
  if (!sizes.projected && sizes.out != outputs)
    throw options.mistake("out", fmt::format("is not the layer's outputs, {}, as it has to be where there is no output "
                                             "projection; `output_projection = yes` makes {} of any.",
                                             outputs, outputs));
  return sizes;
}

namespace {

/// y = x, or x + residual where that is not empty.
template <class Scalar>
void write_sum(Matrix<const Scalar> x, Matrix<const Scalar> residual, Matrix<Scalar> y) {
  const int columns = extent(y, 1);
  const Chunks chunks(extent(y, 0));
  const bool added = residual.data() != nullptr;
  Kokkos::parallel_for(
      "ridgeline::attention/output", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int first = chunks.begin(team.league_rank()), count = chunks.end(team.league_rank()) - first;
        const Scalar* in = &x(first, 0);
        const Scalar* more = added ? &residual(first, 0) : nullptr;
        Scalar* out = &y(first, 0);
        if (added)
          for_lanes(team, count * columns, [=](int i) { out[i] = in[i] + more[i]; });
        else
          for_lanes(team, count * columns, [=](int i) { out[i] = in[i]; });
      });
}

/// body(rows) for `all`, as many at a time as stay in a cache.
template <class Body>
void for_row_blocks(Rows all, const Body& body) {
  for (int done = 0; done < all.count; done += std::min(rows_at_once, all.count - done))
    body(Rows{all.first + done, std::min(rows_at_once, all.count - done)});
}

/// Those rows of a tensor's; none of an empty one.
template <class Scalar>
Matrix<Scalar> rows_of(const Tensor<Scalar>& tensor, Rows rows) {
  if (tensor.data() == nullptr) return {};
  const std::size_t columns = tensor.extent(2);
  return Matrix<Scalar>(tensor.data() + static_cast<std::size_t>(rows.first) * columns, rows.count, columns);
}
template <class Scalar>
Matrix<Scalar> rows_of(const Matrix<Scalar>& matrix, Rows rows) {
  return Matrix<Scalar>(row_pointer(matrix, rows.first), rows.count, matrix.extent(1));
}

}  // namespace

template <class Scalar>
ProjectedAttention<Scalar>::ProjectedAttention(Setup<Scalar>& setup)
    : sizes_(attention_sizes(setup.inputs, setup.outputs, setup.options)),
      query_(setup.parameters, "query", sizes_.inputs, sizes_.embed),
      key_value_(setup.parameters, "key_value", sizes_.inputs + sizes_.extra, sizes_.embed + sizes_.out) {
  if (sizes_.projected)
    output_ = std::make_unique<Linear<Scalar>>(setup.parameters, "output", sizes_.out, sizes_.outputs);
}

template <class Scalar>
void ProjectedAttention<Scalar>::reserve_tokens(const Shape& shape, Arena& arena) {
  queries_ = arena.kept<Scalar>(shape.batch, shape.tokens, sizes_.embed);
  keys_values_ = arena.kept<Scalar>(shape.batch, shape.tokens, sizes_.embed + sizes_.out);
  attended_ = arena.kept<Scalar>(shape.batch, shape.tokens, sizes_.out);
}

template <class Scalar>
void ProjectedAttention<Scalar>::reserve(const Shape& shape, Arena& arena) {
  reserve_tokens(shape, arena);
  const int together = core_->rows_from(shape, 0).count;
  queries_gradient_ = arena.passing<Scalar>(together, sizes_.embed);
  keys_values_gradient_ = arena.passing<Scalar>(together, sizes_.embed + sizes_.out);
  if (sizes_.projected) attended_gradient_ = arena.passing<Scalar>(shape.batch, shape.tokens, sizes_.out);
  sums_.reserve(shape.rows(), std::max(sizes_.embed + sizes_.out, sizes_.outputs), arena);
  core_->reserve(shape, arena);
}

template <class Scalar>
void ProjectedAttention<Scalar>::set_extra(Tensor<const Scalar> extra, Tensor<Scalar> dextra) {
  extra_ = extra;
  extra_gradient_ = dextra;
}

template <class Scalar>
void ProjectedAttention<Scalar>::forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) {
  {
    const Region region("projections");
    project(x);
  }
  {
    const Region region("heads");
    core_->forward(queries_, keys_values_, attended_);
  }
  const Region region("output");
  write(residual, y);
}

template <class Scalar>
void ProjectedAttention<Scalar>::project(Tensor<const Scalar> x) const {
  for_row_blocks({0, shape_of(x).rows()}, [&](Rows rows) {
    const Matrix<Scalar> queries = rows_of(queries_, rows), keys_values = rows_of(keys_values_, rows);
    const Matrix<const Scalar> inputs = rows_of(x, rows);
    query_.product(inputs, queries);
    add_bias<Scalar>(queries, query_.bias.value, {});
    key_value_product(inputs, rows_of(extra_, rows), keys_values);
    add_bias<Scalar>(keys_values, key_value_.bias.value, {});
  });
}

/// The extra channels are another matrix, so the weight's columns are taken in two products.
template <class Scalar>
void ProjectedAttention<Scalar>::key_value_product(Matrix<const Scalar> x, Matrix<const Scalar> extra,
                                                   Matrix<Scalar> y) const {
  const int rows = extent(x, 0), c = sizes_.inputs, added = sizes_.extra, all = c + added,
            outputs = key_value_.outputs();
  const Scalar* weight = key_value_.weight.value.data();
  gemm<Scalar>({rows, outputs, c}, {x.data(), c}, {weight, all, Op::transpose}, {y.data(), outputs});
  if (added == 0) return;
  gemm<Scalar>({rows, outputs, added}, {extra.data(), added}, {weight + c, all, Op::transpose}, {y.data(), outputs},
               {1, 1});
}

template <class Scalar>
void ProjectedAttention<Scalar>::write(Tensor<const Scalar> residual, Tensor<Scalar> y) const {
  if (!output_) {
    write_sum<Scalar>(rows_of(attended_), rows_of(residual), rows_of(y));
    return;
  }
  for_row_blocks({0, shape_of(y).rows()}, [&](Rows rows) {
    const Matrix<Scalar> outputs = rows_of(y, rows);
    output_->product(rows_of(attended_, rows), outputs);
    add_bias<Scalar>(outputs, output_->bias.value, rows_of(residual, rows));
  });
}

template <class Scalar>
void ProjectedAttention<Scalar>::backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) {
  Tensor<const Scalar> attended_gradient = dy;
  if (output_) {
    const Region region("output");
    attended_gradient = output_backward(dy);
  }
  {
    const Region region("heads");
    core_->begin_backward(queries_, keys_values_, attended_, attended_gradient);
  }
  const Shape shape = shape_of(x);
  Rows rows{};
  for (int next = 0; next < shape.rows(); next += rows.count) {
    rows = core_->rows_from(shape, next);
    {
      const Region region("heads");
      core_->backward(queries_, keys_values_, attended_, attended_gradient, rows,
                      rows_of(queries_gradient_, {0, rows.count}), rows_of(keys_values_gradient_, {0, rows.count}));
    }
    const Region region("projections");
    project_backward(x, rows, dx);
  }
}

/// The gradients lie in their arrays from the first row on.
template <class Scalar>
void ProjectedAttention<Scalar>::project_backward(Tensor<const Scalar> x, Rows all, Tensor<Scalar> dx) {
  for_row_blocks(all, [&](Rows rows) {
    const Rows here{rows.first - all.first, rows.count};
    const Matrix<const Scalar> queries_gradient = rows_of(queries_gradient_, here),
                               keys_values_gradient = rows_of(keys_values_gradient_, here);
    query_backward(rows_of(x, rows), queries_gradient, rows_of(dx, rows));
    key_value_backward(rows_of(x, rows), keys_values_gradient, rows_of(dx, rows));
    extra_backward(rows_of(extra_, rows), keys_values_gradient, rows_of(extra_gradient_, rows));
  });
}

template <class Scalar>
Tensor<const Scalar> ProjectedAttention<Scalar>::output_backward(Tensor<const Scalar> dy) {
  for_row_blocks({0, shape_of(dy).rows()}, [&](Rows rows) {
    const Matrix<const Scalar> gradient = rows_of(dy, rows);
    sums_.add(gradient, output_->bias.gradient);
    output_->add_weight_gradient(rows_of(attended_, rows), gradient);
    output_->input_gradient(gradient, rows_of(attended_gradient_, rows));
  });
  return attended_gradient_;
}

template <class Scalar>
void ProjectedAttention<Scalar>::query_backward(Matrix<const Scalar> x, Matrix<const Scalar> dy, Matrix<Scalar> dx) {
  sums_.add(dy, query_.bias.gradient);
  query_.add_weight_gradient(x, dy);
  if (dx.data() != nullptr) query_.input_gradient(dy, dx);
}

/// Of the token's own channels: adds to dx, which query_backward has written.
template <class Scalar>
void ProjectedAttention<Scalar>::key_value_backward(Matrix<const Scalar> x, Matrix<const Scalar> dy,
                                                    Matrix<Scalar> dx) {
  const int rows = extent(x, 0), c = sizes_.inputs, all = c + sizes_.extra, outputs = key_value_.outputs();
  sums_.add(dy, key_value_.bias.gradient);
  gemm<Scalar>({outputs, c, rows}, {dy.data(), outputs, Op::transpose}, {x.data(), c},
               {key_value_.weight.gradient.data(), all}, {1, 1});
  if (dx.data() != nullptr)
    gemm<Scalar>({rows, c, outputs}, {dy.data(), outputs}, {key_value_.weight.value.data(), all}, {dx.data(), c},
                 {1, 1});
}

template <class Scalar>
void ProjectedAttention<Scalar>::extra_backward(Matrix<const Scalar> extra, Matrix<const Scalar> dy,
                                                Matrix<Scalar> dextra) {
  const int rows = extent(dy, 0), c = sizes_.inputs, added = sizes_.extra, all = c + added,
            outputs = key_value_.outputs();
  if (added == 0) return;
  gemm<Scalar>({outputs, added, rows}, {dy.data(), outputs, Op::transpose}, {extra.data(), added},
               {key_value_.weight.gradient.data() + c, all}, {1, 1});
  if (dextra.data() != nullptr)
    gemm<Scalar>({rows, added, outputs}, {dy.data(), outputs}, {key_value_.weight.value.data() + c, all},
                 {dextra.data(), added});
}

/// Without the gradient of the extra channels, which training does not ask for.
template <class Scalar>
Operations ProjectedAttention<Scalar>::operations(const Shape& shape) const {
  const int rows = shape.rows();
  double projections = query_.operations(rows) + key_value_.operations(rows);
  if (output_) projections += output_->operations(rows);
  const double extra_gradient = 2.0 * rows * sizes_.extra * key_value_.outputs();
  Operations operations{projections, 2 * projections - extra_gradient};
  return operations += core_->operations(shape);
}

template <class Scalar>
void ProjectedAttention<Scalar>::reserve_sequence(const Shape& longest, Arena& arena) {
  reserve_tokens({longest.batch, 1}, arena);
  core_->reserve_sequence(longest, arena);
}

template <class Scalar>
void ProjectedAttention<Scalar>::next_token(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) {
  project(x);
  core_->next_token(queries_, keys_values_, attended_);
  write(residual, y);
}

template class ProjectedAttention<float>;
template class ProjectedAttention<double>;

}  // namespace ridgeline
