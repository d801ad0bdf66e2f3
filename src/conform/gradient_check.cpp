#include "conform/gradient_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "config/text.hpp"
#include "core/random.hpp"

namespace ridgeline::conform {
namespace {

constexpr double steps[] = {2e-3, 2e-4, 2e-5, 2e-6, 2e-7};

/// An array that L depends on: x, or a parameter.
struct Variable {
  std::string name;
  std::vector<int> shape;
  std::vector<double> values;
  std::vector<double> gradient;  ///< by the backward pass
  std::function<void(const std::vector<double>&)> set;

  std::string entry_name(std::size_t index) const {
    std::vector<std::size_t> position(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; index /= shape[d]) position[d] = index % shape[d];
    return fmt::format("{}[{}]", name, fmt::join(position, ", "));
  }
};

/// L as a function of all variables.
class Function {
 public:
  Function(Subject<double>& subject, const Tokens& x, const Tokens& dy) : subject_(subject), x_(x), dy_(dy) {
    const Gradients gradients = differentiate(subject, x, dy);
    variables_.push_back({"x",
                          {x.shape.batch, x.shape.tokens, x.channels},
                          x.values,
                          gradients.dx.values,
                          [this](const std::vector<double>& values) { x_.values = values; }});
    for (const auto& entry : subject.parameters().entries())
      variables_.push_back(
          {entry.name, entry.shape, subject.parameters().get(entry), gradients.parameters.at(entry.name),
           [this, &entry](const std::vector<double>& values) { subject_.parameters().set(entry, values); }});
  }
  ~Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  const std::vector<Variable>& variables() const { return variables_; }

  /// dL/dt at t = 0, `move` having set what L depends on for a value of t: Richardson's extrapolation of two central
  /// differences. Differences are taken of y, not of the sum, as that loses fewer digits.
  double slope(const std::function<void(double)>& move, double step) const {
    const double wide = central(move, step), narrow = central(move, step / 2);
    move(0);
    return (4 * narrow - wide) / 3;
  }

 private:
  double central(const std::function<void(double)>& move, double step) const {
    move(step);
    const Tokens above = evaluate(subject_, x_);
    move(-step);
    const Tokens below = evaluate(subject_, x_);
    double sum = 0;
    for (std::size_t i = 0; i < dy_.values.size(); ++i) sum += dy_.values[i] * (above.values[i] - below.values[i]);
    return sum / (2 * step);
  }

  Subject<double>& subject_;
  Tokens x_;
  const Tokens& dy_;
  std::vector<Variable> variables_;
};

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

/// The least error over the steps.
GradientError try_steps(const Function& function, const std::function<void(double)>& move, double backward,
                        double scale, double good_enough) {
  GradientError best;
  best.error = INFINITY;
  best.backward = backward;
  for (const double step : steps) {
    const double difference = function.slope(move, step);
    const double error = std::abs(difference - backward) / (scale > 0 ? scale : 1);
    if (error < best.error) {
      best.error = error;
      best.difference = difference;
    }
    if (error <= good_enough) break;
  }
  return best;
}

GradientError check_entry(const Function& function, const Variable& variable, std::size_t index, double scale,
                          double good_enough) {
  const auto move = [&](double t) {
    std::vector<double> values = variable.values;
    values[index] += t;
    variable.set(values);
  };
  GradientError error = try_steps(function, move, variable.gradient[index], scale, good_enough);
  error.where = variable.entry_name(index);
  return error;
}

GradientError check_direction(const Function& function, const GradientCheck& check) {
  const RandomStream stream(check.seed, "gradient_check/direction");
  std::vector<std::vector<double>> direction;
  std::uint64_t draw = 0;
  double backward = 0, square = 0;
  for (const Variable& variable : function.variables()) {
    direction.emplace_back(variable.values.size());
    for (std::size_t i = 0; i < variable.values.size(); ++i) {
      direction.back()[i] = stream.uniform(draw++, -1, 1);
      backward += direction.back()[i] * variable.gradient[i];
      square += variable.gradient[i] * variable.gradient[i];
    }
  }
  const auto move = [&](double t) {
    for (std::size_t v = 0; v < direction.size(); ++v) {
      std::vector<double> values = function.variables()[v].values;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += t * direction[v][i];
      function.variables()[v].set(values);
    }
  };
  GradientError error = try_steps(function, move, backward, std::sqrt(square), check.good_enough);
  error.where = "a direction through all entries";
  return error;
}

/// `count` of the whole numbers below `size`, or all of them.
std::vector<std::size_t> sample(std::size_t size, std::size_t count, const RandomStream& stream) {
  std::vector<std::size_t> indices(std::min(size, count));
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  if (size > count)
    for (std::size_t i = 0; i < count; ++i) indices[i] = stream.below(i, static_cast<std::uint32_t>(size));
  return indices;
}

}  // namespace

Tokens random_tokens(const Shape& shape, int channels, std::uint64_t seed) {
  const RandomStream stream(seed, "conform/tokens");
  Tokens tokens{shape, channels, std::vector<double>(static_cast<std::size_t>(shape.rows()) * channels)};
  for (std::size_t i = 0; i < tokens.values.size(); ++i) tokens.values[i] = stream.normal(i);
  return tokens;
}

template <class Scalar>
void randomise(Parameters<Scalar>& parameters, std::uint64_t seed) {
  parameters.initialise(seed);
  for (const auto& entry : parameters.entries()) {
    if (entry.initial.kind != Initial::Kind::constant) continue;
    const RandomStream stream(seed, "conform/" + entry.name);
    std::vector<double> values = parameters.get(entry);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += stream.uniform(i, -0.3, 0.3);
    parameters.set(entry, values);
  }
}

template void randomise(Parameters<float>&, std::uint64_t);
template void randomise(Parameters<double>&, std::uint64_t);

std::string GradientError::text() const {
  return fmt::format("{}: backward {:.12g}, difference {:.12g}, error {:.2g}", where, without_sign_of_nan(backward),
                     without_sign_of_nan(difference), without_sign_of_nan(error));
}

GradientError worst_gradient(Subject<double>& subject, const Tokens& x, const Tokens& dy, const GradientCheck& check) {
  const Function function(subject, x, dy);
  double overall = 0;
  for (const Variable& variable : function.variables()) overall = std::max(overall, largest(variable.gradient));
  GradientError worst = check_direction(function, check);
  for (const Variable& variable : function.variables()) {
    // A gradient that is zero but for rounding (a bias that softmax does not see) is held against the others.
    const double scale = std::max(largest(variable.gradient), 1e-3 * overall);
    const RandomStream stream(check.seed, "gradient_check/" + variable.name);
    for (const std::size_t index : sample(variable.values.size(), static_cast<std::size_t>(check.entries), stream)) {
      const GradientError error = check_entry(function, variable, index, scale, check.good_enough);
      if (!(error.error <= worst.error)) worst = error;
    }
  }
  return worst;
}

}  // namespace ridgeline::conform
