// Checks of activations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "config/text.hpp"
#include "conform/gradient_check.hpp"
#include "conform/pointwise.hpp"

namespace ridgeline::conform {

template <class Scalar>
Pointwise<Scalar>::Pointwise(const Case& tried)
    : Pointwise(tried.layer, {tried.sizes.shape.rows(), tried.sizes.inputs}, some_x(tried.sizes).values) {}

template <class Scalar>
Pointwise<Scalar>::Pointwise(const LayerName& activation, const Shape& shape, const std::vector<double>& z,
                             const std::vector<double>& bias)
    : activation_(Registry::instance().get(activation.kind, activation.name).template make_activation<Scalar>()),
      rows_(shape.batch),
      columns_(shape.tokens),
      z_(z.size(), z),
      bias_(columns_, bias.empty() ? std::vector<double>(columns_) : bias),
      value_(z.size()),
      slope_(z.size()),
      z_before_(z_.values()),
      bias_before_(bias_.values()) {}

template <class Scalar>
void Pointwise<Scalar>::run() const {
  activation_->apply(matrix(z_), Vector<const Scalar>(bias_.data(), columns_), matrix(value_), matrix(slope_));
}

template <class Scalar>
void Pointwise<Scalar>::run_in_place() const {
  activation_->apply(matrix(z_), Vector<const Scalar>(bias_.data(), columns_), matrix(value_), matrix(z_));
}

template <class Scalar>
std::string Pointwise<Scalar>::trespass() const {
  const char* const names[] = {"its argument", "the bias", "the values", "the slopes"};
  const GuardedNumbers<Scalar>* const numbers[] = {&z_, &bias_, &value_, &slope_};
  for (std::size_t i = 0; i < std::size(numbers); ++i)
    if (!numbers[i]->guards_hold()) return std::string("memory beside ") + names[i];
  if (z_.values() != z_before_) return "its argument, which is to read only";
  if (bias_.values() != bias_before_) return "the bias, which is to read only";
  return "";
}

template class Pointwise<float>;
template class Pointwise<double>;

namespace {

Shape matrix_of(const Case& tried) { return {tried.sizes.shape.rows(), tried.sizes.inputs}; }

template <class Scalar>
ValuesAndSlopes apply(const Case& tried, const std::vector<double>& z) {
  const Pointwise<Scalar> pointwise(tried.layer, matrix_of(tried), z);
  pointwise.run();
  return pointwise.results();
}

bool same(const ValuesAndSlopes& a, const ValuesAndSlopes& b) { return a.values == b.values && a.slopes == b.slopes; }

std::vector<double> moved(std::vector<double> values, double by) {
  for (double& value : values) value += by;
  return values;
}

/// Where a slope is tried besides ordinary numbers: far out, beside the whole numbers at which functions are cut.
constexpr double far_out[] = {6.3, -6.3, 10.7, -10.7, 31.3, -31.3, 101.7, -101.7};

/// The case's numbers, the first of them far out where there are more than those.
std::vector<double> near_and_far(const Case& tried) {
  std::vector<double> z = some_x(tried.sizes).values;
  if (z.size() > std::size(far_out)) std::copy(std::begin(far_out), std::end(far_out), z.begin());
  return z;
}

/// Slopes by Richardson's extrapolation of central differences.
std::vector<double> differences(const Case& tried, const std::vector<double>& z, double step) {
  const auto central = [&](double h) {
    const std::vector<double> above = apply<double>(tried, moved(z, h)).values,
                              below = apply<double>(tried, moved(z, -h)).values;
    std::vector<double> slopes(z.size());
    for (std::size_t i = 0; i < z.size(); ++i) slopes[i] = (above[i] - below[i]) / (2 * h);
    return slopes;
  };
  const std::vector<double> wide = central(step), narrow = central(step / 2);
  std::vector<double> slopes(z.size());
  for (std::size_t i = 0; i < z.size(); ++i) slopes[i] = (4 * narrow[i] - wide[i]) / 3;
  return slopes;
}

/// Where `poison` takes the place of an entry, the other ones are as before. `shows`: the entry itself is no number.
Finding poisoned(const Case& tried, double poison, bool shows) {
  std::vector<double> z = some_x(tried.sizes).values;
  ValuesAndSlopes before = apply<double>(tried, z);
  const std::size_t at = z.size() / 2;
  z[at] = poison;
  ValuesAndSlopes after = apply<double>(tried, z);
  if (shows && std::isfinite(after.values[at])) return failed("NaN gives a number");
  before.values[at] = after.values[at] = before.slopes[at] = after.slopes[at] = 0;
  if (!same(before, after)) return failed(fmt::format("{} in one entry changes others", poison));
  return passed();
}

}  // namespace

Finding activation_slope(const Case& tried) {
  const std::vector<double> z = near_and_far(tried);
  const auto [values, slopes] = apply<double>(tried, z);
  for (std::size_t i = 0; i < z.size(); ++i)
    if (!std::isfinite(values[i]) || !std::isfinite(slopes[i]))
      return failed(fmt::format("at {:.9g}: value {:.12g}, slope {:.12g}", z[i], without_sign_of_nan(values[i]),
                                without_sign_of_nan(slopes[i])));
  std::vector<double> least(z.size(), std::numeric_limits<double>::infinity()), nearest(z.size());
  // A value may lie beside a kink: there, smaller steps are right.
  for (const double step : {2e-3, 2e-4, 2e-5, 2e-6}) {
    const std::vector<double> found = differences(tried, z, step);
    for (std::size_t i = 0; i < z.size(); ++i) {
      // Differences of large values are as rough as these.
      const double rough = 4 * std::numeric_limits<double>::epsilon() * std::abs(values[i]) / step;
      // In this order of arguments NaN, of a difference of infinities, stays: it is no small error.
      const double error = std::max(std::abs(found[i] - slopes[i]) - rough, 0.0) / std::max(1.0, std::abs(found[i]));
      if (error < least[i]) {
        least[i] = error;
        nearest[i] = found[i];
      }
    }
  }
  const std::size_t worst = static_cast<std::size_t>(std::max_element(least.begin(), least.end()) - least.begin());
  if (!(least[worst] <= largest_gradient_error))
    return failed(fmt::format("at {:.9g}: slope {:.12g}, difference {:.12g}", z[worst], slopes[worst],
                              without_sign_of_nan(nearest[worst])),
                  least[worst]);
  return passed();
}

Finding activation_single_precision(const Case& tried) {
  const std::vector<double> z = some_x(tried.sizes).values;
  const ValuesAndSlopes expected = apply<double>(tried, z), computed = apply<float>(tried, z);
  const double error =
      std::max(difference(computed.values, expected.values, 1), difference(computed.slopes, expected.slopes, 1));
  if (!(error <= largest_single_error)) return failed(fmt::format("off by {:.2g} in single precision", error), error);
  return passed();
}

Finding activation_sources(const Case& tried) {
  const std::vector<double> z = some_x(tried.sizes).values;
  const ValuesAndSlopes expected = apply<double>(tried, z);
  if (!all_finite(expected.values) || !all_finite(expected.slopes))
    return failed("it reads what it is to write, or leaves entries unwritten");
  const Pointwise<double> in_place(tried.layer, matrix_of(tried), z);
  in_place.run_in_place();
  if (!same(in_place.results_in_place(), expected)) return failed("the slopes in the place of the argument differ");
  // The bias is added: of powers of two, to multiples of them, exactly.
  std::vector<double> coarse = z, bias(tried.sizes.inputs), sum(z.size());
  for (std::size_t j = 0; j < bias.size(); ++j) bias[j] = 0.25 * static_cast<double>(j % 5);
  for (std::size_t i = 0; i < z.size(); ++i) {
    coarse[i] = std::round(8 * z[i]) / 8;
    sum[i] = coarse[i] + bias[i % bias.size()];
  }
  const Pointwise<double> biased(tried.layer, matrix_of(tried), coarse, bias);
  biased.run();
  if (!same(biased.results(), apply<double>(tried, sum))) return failed("it is not applied to the sum of z and bias");
  return passed();
}

Finding activation_repetition(const Case& tried) {
  const Pointwise<double> pointwise(tried);
  pointwise.run();
  const ValuesAndSlopes before = pointwise.results();
  Case other = tried;
  other.sizes.shape.tokens += 5;
  Pointwise<double>(other).run();
  pointwise.run();
  return same(pointwise.results(), before) ? passed() : failed("run twice on the same, its results differ");
}

Finding activation_rows(const Case& tried) {
  std::vector<double> z = some_x(tried.sizes).values;
  const auto columns = static_cast<std::size_t>(tried.sizes.inputs);
  if (z.size() == columns) return not_applicable("there is one row only");
  ValuesAndSlopes before = apply<double>(tried, z);
  for (std::size_t j = 0; j < columns; ++j) z[columns + j] = 7 - static_cast<double>(j);
  ValuesAndSlopes after = apply<double>(tried, z);
  for (std::size_t j = columns; j < 2 * columns; ++j)
    before.values[j] = after.values[j] = before.slopes[j] = after.slopes[j] = 0;
  return same(before, after) ? passed() : failed("other numbers in one row change another row");
}

Finding activation_guard_zones(const Case& tried) {
  const Pointwise<double> in_double(tried);
  in_double.run();
  const Pointwise<float> in_single(tried);
  in_single.run();
  const std::string trespass = in_double.trespass().empty() ? in_single.trespass() : in_double.trespass();
  return trespass.empty() ? passed() : failed("it writes " + trespass);
}

Finding activation_not_a_number(const Case& tried) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double poison : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
    Finding finding = poisoned(tried, poison, std::isnan(poison));
    if (finding.result == Finding::Result::failed) return finding;
  }
  return passed();
}

namespace {

template <class Scalar>
Finding magnitudes_in(const Case& tried, const char* precision) {
  for (const double scale : {1e10, static_cast<double>(std::numeric_limits<Scalar>::denorm_min())}) {
    std::vector<double> z = some_x(tried.sizes).values;
    for (double& value : z) value = value < 0 ? -scale : scale;
    const ValuesAndSlopes found = apply<Scalar>(tried, z);
    if (!all_finite(found.values) || !all_finite(found.slopes))
      return failed(fmt::format("of {:.3g} in {} precision it is not finite", scale, precision));
  }
  return passed();
}

}  // namespace

Finding activation_magnitudes(const Case& tried) {
  const Finding single = magnitudes_in<float>(tried, "single");
  return single.result == Finding::Result::failed ? single : magnitudes_in<double>(tried, "double");
}

}  // namespace ridgeline::conform
