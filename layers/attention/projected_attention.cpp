#include "projected_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  queries_gradient_ = arena.passing<Scalar>(shape.batch, shape.tokens, sizes_.embed);
  keys_values_gradient_ = arena.passing<Scalar>(shape.batch, shape.tokens, sizes_.embed + sizes_.out);
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
  const int rows = shape_of(x).rows(), c = sizes_.inputs, added = sizes_.extra, all = c + added,
            outputs = key_value_.outputs();
  query_.product(rows_of(x), rows_of(queries_));
  add_bias<Scalar>(rows_of(queries_), query_.bias.value, {});
  gemm<Scalar>({rows, outputs, c}, {x.data(), c}, {key_value_.weight.value.data(), all, Op::transpose},
               {keys_values_.data(), outputs});
  if (added > 0)
    gemm<Scalar>({rows, outputs, added}, {extra_.data(), added},
                 {key_value_.weight.value.data() + c, all, Op::transpose}, {keys_values_.data(), outputs}, {1, 1});
  add_bias<Scalar>(rows_of(keys_values_), key_value_.bias.value, {});
}

template <class Scalar>
void ProjectedAttention<Scalar>::write(Tensor<const Scalar> residual, Tensor<Scalar> y) const {
  if (!output_) {
    write_sum<Scalar>(rows_of(attended_), rows_of(residual), rows_of(y));
    return;
  }
  output_->product(rows_of(attended_), rows_of(y));
  add_bias<Scalar>(rows_of(y), output_->bias.value, rows_of(residual));
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
    core_->backward(queries_, keys_values_, attended_, attended_gradient, queries_gradient_, keys_values_gradient_);
  }
  const Region region("projections");
  query_backward(rows_of(x), rows_of(dx));
  key_value_backward(rows_of(x), rows_of(dx));
}

template <class Scalar>
Tensor<const Scalar> ProjectedAttention<Scalar>::output_backward(Tensor<const Scalar> dy) {
  sums_.add(rows_of(dy), output_->bias.gradient);
  output_->add_weight_gradient(rows_of(attended_), rows_of(dy));
  output_->input_gradient(rows_of(dy), rows_of(attended_gradient_));
  return attended_gradient_;
}

template <class Scalar>
void ProjectedAttention<Scalar>::query_backward(Matrix<const Scalar> x, Matrix<Scalar> dx) {
  const Matrix<const Scalar> gradient = rows_of(read(queries_gradient_));
  sums_.add(gradient, query_.bias.gradient);
  query_.add_weight_gradient(x, gradient);
  if (dx.data() != nullptr) query_.input_gradient(gradient, dx);
}

template <class Scalar>
void ProjectedAttention<Scalar>::key_value_backward(Matrix<const Scalar> x, Matrix<Scalar> dx) {
  const int rows = extent(x, 0), c = sizes_.inputs, added = sizes_.extra, all = c + added,
            outputs = key_value_.outputs();
  const Scalar *gradient = keys_values_gradient_.data(), *weight = key_value_.weight.value.data();
  Scalar* weight_gradient = key_value_.weight.gradient.data();
  sums_.add(rows_of(read(keys_values_gradient_)), key_value_.bias.gradient);
  gemm<Scalar>({outputs, c, rows}, {gradient, outputs, Op::transpose}, {x.data(), c}, {weight_gradient, all}, {1, 1});
  if (dx.data() != nullptr)
    gemm<Scalar>({rows, c, outputs}, {gradient, outputs}, {weight, all}, {dx.data(), c}, {1, 1});
  if (added == 0) return;
  gemm<Scalar>({outputs, added, rows}, {gradient, outputs, Op::transpose}, {extra_.data(), added},
               {weight_gradient + c, all}, {1, 1});
  if (extra_gradient_.data() != nullptr)
    gemm<Scalar>({rows, added, outputs}, {gradient, outputs}, {weight + c, all}, {extra_gradient_.data(), added});
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
