// A check of the conformance kit: what it is given, what it finds, and the table of all of them.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conform/subject.hpp"

namespace ridgeline::conform {

/// One call to try: a layer, its options, and sizes. An activation has none of a token's: it takes a matrix of
/// shape.rows() by inputs. A position is asked for the numbers of shape.tokens tokens, for as many channels, or heads, as
/// outputs; what it gives is spread as PositionLayer does it.
struct Case {
  LayerName layer;
  Sizes sizes;
  bool standard = true;  ///< no option is varied
};

struct Finding {
  enum class Result { passed, failed, not_applicable };
  Result result = Result::passed;
  std::string text = {};              ///< what is wrong, or why the check does not apply: a clause
  std::optional<double> number = {};  ///< the one that was too large
};

Finding passed();
Finding failed(std::string text, std::optional<double> number = std::nullopt);
Finding not_applicable(std::string why);

using Examination = Finding (*)(const Case&);

/// What a check is for subjects of one sort: an examination, or why there is none.
struct Part {
  Part(Examination of) : examination(of) {}                 // NOLINT(google-explicit-constructor): entries of a table
  Part(const char* reason) : why_not_applicable(reason) {}  // NOLINT(google-explicit-constructor)

  Examination examination = nullptr;
  const char* why_not_applicable = "";
};

struct Check {
  const char* name;
  const char* purpose;  ///< what holds where it passes
  Part layer;           ///< of a layer of tokens
  Part activation;
  Part position;
};

/// Every check, in the order of the report.
const std::vector<Check>& checks();

// ---- what the checks share ----

constexpr double largest_gradient_error = 1e-7;
constexpr double largest_single_error = 2e-4;
constexpr double rounding = 1e-12;  ///< in double, of sums in the same order or nearly

/// max |a - b| beside max |b|, or beside `at_least` where that is larger; infinite where an entry is not finite.
double difference(const std::vector<double>& a, const std::vector<double>& b, double at_least = 0);

/// The worst of the parameters' gradients. One that is zero but for rounding (a bias that a softmax does not see) is
/// held against the others.
struct WorstParameter {
  std::string name;
  double error = 0;
};
using ByName = std::map<std::string, std::vector<double>>;
WorstParameter worst_parameter(const ByName& gradients, const ByName& expected);

bool all_finite(const std::vector<double>& values);
bool all_finite(const Gradients& gradients);

/// The values of one sample.
std::vector<double> sample_of(const Tokens& tokens, int sample);

/// What the checks give a layer: the same for every call.
Tokens some_x(const Sizes& sizes);
Tokens some_dy(const Sizes& sizes);

// ---- the checks of layers ----

Finding gradients(const Case& tried);
Finding single_precision(const Case& tried);
Finding accumulation(const Case& tried);
Finding sources(const Case& tried);
Finding residual(const Case& tried);
Finding repetition(const Case& tried);
Finding samples(const Case& tried);
Finding batch_size(const Case& tried);
Finding causal(const Case& tried);
Finding one_by_one(const Case& tried);
Finding permutation(const Case& tried);
Finding grid(const Case& tried);
Finding pointwise(const Case& tried);
Finding guard_zones(const Case& tried);
Finding memory(const Case& tried);
Finding allocations(const Case& tried);
Finding kernel_names(const Case& tried);
Finding not_a_number(const Case& tried);
Finding magnitudes(const Case& tried);
Finding operations(const Case& tried);
Finding checkpoint(const Case& tried);

// ---- the check that positions have of their own ----

Finding position_lengths(const Case& tried);

// ---- the checks of activations ----

Finding activation_slope(const Case& tried);
Finding activation_single_precision(const Case& tried);
Finding activation_sources(const Case& tried);
Finding activation_repetition(const Case& tried);
Finding activation_rows(const Case& tried);
Finding activation_guard_zones(const Case& tried);
Finding activation_allocations(const Case& tried);
Finding activation_kernel_names(const Case& tried);
Finding activation_not_a_number(const Case& tried);
Finding activation_magnitudes(const Case& tried);

}  // namespace ridgeline::conform
