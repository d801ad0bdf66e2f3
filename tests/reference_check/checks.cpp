#include "checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comparison.hpp"
#include "layer/registry.hpp"
#include "position_checks.hpp"
#include "train/adam.hpp"
#include "train/loss.hpp"

namespace ridgeline::reference {
namespace {

using support::Tokens;

}  // namespace

double largest_of(const Arrays& arrays) {
  double largest = 0;
  for (const auto& [name, array] : arrays) largest = std::max(largest, largest_magnitude(array.values));
  return largest;
}

namespace {

// ---- parameters ----

hdf5::Shape shape_of_entry(const std::vector<int>& shape) { return {shape.begin(), shape.end()}; }

/// Throws Failed unless the group holds exactly the parameters there are, in their shapes.
template <class Scalar>
void match_parameters(const Parameters<Scalar>& parameters, const Arrays& arrays, const std::string& group) {
  for (const auto& entry : parameters.entries()) {
    const hdf5::Shape expected = shape_of_entry(entry.shape);
    const hdf5::Shape& found = array_of(arrays, group, entry.name).shape;
    if (found != expected)
      throw Failed(fmt::format("{}/{} is {}, the layer's parameter is {}", group, entry.name, hdf5::to_string(found),
                               hdf5::to_string(expected)));
  }
  for (const auto& [name, array] : arrays)
    if (!parameters.find(name)) throw Failed(group + "/" + name + " is no parameter of the layer");
}

}  // namespace

template <class Scalar>
void set_parameters(Parameters<Scalar>& parameters, const Arrays& arrays) {
  match_parameters(parameters, arrays, "param");
  for (const auto& entry : parameters.entries()) parameters.set(entry, arrays.at(entry.name).values);
}

template void set_parameters(Parameters<float>&, const Arrays&);
template void set_parameters(Parameters<double>&, const Arrays&);

namespace {

// ---- a layer or a block: outputs and gradients ----

void match_shape(const Tokens& tokens, const Shape& shape, int channels, const std::string& what) {
  if (tokens.shape == shape && tokens.channels == channels) return;
  throw Failed(fmt::format("{} is [{}, {}, {}] and not [{}, {}, {}]", what, tokens.shape.batch, tokens.shape.tokens,
                           tokens.channels, shape.batch, shape.tokens, channels));
}

template <class Scalar>
Worst compare_gradients(support::Subject<Scalar>& subject, const Case& reference) {
  const double allowed = allowed_error<Scalar>;
  const Tokens x = layer_input_of(reference.input, "input"), y = tokens_of(reference.output, "output", "y"),
               dy = tokens_of(reference.cotangent, "cotangent", "y"),
               dx = layer_input_of(reference.input_gradient, "grad/input");
  match_shape(dy, y.shape, y.channels, "cotangent/y");
  match_shape(dx, x.shape, x.channels, "grad/input/x");
  set_parameters(subject.parameters(), reference.parameters);
  match_parameters(subject.parameters(), reference.parameter_gradient, "grad/param");
  subject.prepare({x.shape});
  const support::Gradients computed = support::differentiate(subject, x, dy);
  if (const std::string complaint = subject.complaint(); !complaint.empty()) throw Failed(complaint);

  Worst worst;
  worst.add("output/y", relative_error(computed.y.values, y.values, largest_of(reference.output)), allowed);
  worst.add("grad/input/x", relative_error(computed.dx.values, dx.values, largest_of(reference.input_gradient)),
            allowed);
  const double largest = largest_of(reference.parameter_gradient);
  for (const auto& [name, array] : reference.parameter_gradient)
    worst.add("grad/param/" + name, relative_error(computed.parameters.at(name), array.values, largest), allowed);
  return worst;
}

}  // namespace

std::string text_of(const Worst& worst) {
  if (worst.passed()) return fmt::format("{:.1e}", worst.error());
  return fmt::format("{:.1e} in {}, {:g} allowed", worst.error(), worst.what(), worst.allowed());
}

Verdict verdict_of(const Worst& in_double, const Worst& in_single) {
  const bool passed = in_double.passed() && in_single.passed();
  return {passed ? Verdict::Status::passed : Verdict::Status::failed,
          fmt::format("double {}   single {}", text_of(in_double), text_of(in_single))};
}

namespace {

Verdict check_layer(const Case& reference, const std::string& kind) {
  const support::LayerName layer = layer_of(reference, kind, text_attribute(reference, "layer"));
  const int inputs = layer_input_of(reference.input, "input").channels;
  const int outputs = tokens_of(reference.output, "output", "y").channels;
  return verdict_of(compare_gradients(*support::make_layer<double>(layer, inputs, outputs), reference),
                    compare_gradients(*support::make_layer<float>(layer, inputs, outputs), reference));
}

Residual residual_of(const Case& reference) {
  const std::string residual = text_attribute(reference, "residual");
  if (residual == "normed") return Residual::normed;
  if (residual == "pre") return Residual::pre;
  throw Skipped("residual " + residual + " is not known");
}

Verdict check_block(const Case& reference) {
  const support::LayerName attention = layer_of(reference, "attention", text_attribute(reference, "attention"));
  const support::LayerName ffn = layer_of(reference, "ffn", text_attribute(reference, "ffn"));
  const Residual residual = residual_of(reference);
  const Tokens x = tokens_of(reference.input, "input", "x");
  match_shape(tokens_of(reference.output, "output", "y"), x.shape, x.channels, "output/y");
  return verdict_of(compare_gradients(*support::make_block<double>(residual, attention, ffn, x.channels), reference),
                    compare_gradients(*support::make_block<float>(residual, attention, ffn, x.channels), reference));
}

// ---- a model: prediction, and the losses of a few steps ----

/// The layer that an attribute names, or the standard one.
LayerChoice choice_of(const Case& reference, const std::string& kind, const std::string& standard) {
  const std::string name = reference.attributes.count(kind) ? text_attribute(reference, kind) : standard;
  return {name, support::option_values(layer_of(reference, kind, name))};
}

/// A model has two inputs, its channels and the target.
Tokens model_input(const Case& reference, const std::string& name) {
  return tokens_of({{name, array_of(reference.input, "input", name)}}, "input", name);
}

ModelPlan plan_of(const Case& reference) {
  ModelPlan plan;
  plan.inputs = model_input(reference, "x").channels;
  plan.targets = model_input(reference, "target").channels;
  plan.width = whole_attribute(reference, "width");
  plan.residual = residual_of(reference);
  plan.encoder = choice_of(reference, "encoder", "mlp");
  plan.attention.assign(whole_attribute(reference, "blocks"), choice_of(reference, "attention", "functional"));
  plan.ffn = choice_of(reference, "ffn", "mlp");
  return plan;
}

/// A batch, and Adam's steps on it.
template <class Scalar>
class Training {
 public:
  Training(support::Subject<Scalar>& subject, const Tokens& x, const Tokens& target)
      : subject_(subject),
        x_(support::to_device<Scalar>(x.values)),
        target_(support::to_device<Scalar>(target.values)),
        prediction_("ridgeline::test/prediction", target.values.size()),
        gradient_("ridgeline::test/gradient", target.values.size()),
        loss_("ridgeline::test/loss"),
        squared_error_(x.shape.rows()),
        adam_(subject.parameters().values().extent(0)),
        x_view_(x_.data(), x.shape.batch, x.shape.tokens, x.channels),
        target_view_(target_.data(), x.shape.batch, x.shape.tokens, target.channels),
        prediction_view_(prediction_.data(), x.shape.batch, x.shape.tokens, target.channels),
        gradient_view_(gradient_.data(), x.shape.batch, x.shape.tokens, target.channels) {
    subject_.prepare({x.shape});
  }

  std::vector<double> predict() {
    subject_.forward(x_view_, {}, prediction_view_);
    return support::to_host<Scalar>(prediction_);
  }

  /// The loss before the step.
  double step(int number, double learning_rate) {
    subject_.forward(x_view_, {}, prediction_view_);
    squared_error_(prediction_view_, target_view_, {}, static_cast<double>(prediction_.extent(0)), gradient_view_,
                   loss_);
    subject_.backward(x_view_, gradient_view_, {});
    adam_.step(subject_.parameters(), number, learning_rate);
    double loss = 0;
    Kokkos::deep_copy(loss, loss_);
    return loss;
  }

 private:
  using Buffer = Kokkos::View<Scalar*, Memory>;
  support::Subject<Scalar>& subject_;
  Buffer x_, target_, prediction_, gradient_;
  Kokkos::View<double, Memory> loss_;
  SquaredError<Scalar> squared_error_;
  Adam<Scalar> adam_;
  Tensor<const Scalar> x_view_, target_view_;
  Tensor<Scalar> prediction_view_, gradient_view_;
};

struct ModelErrors {
  double prediction = 0, losses = 0;
  Worst parameters;

  Worst worst(bool in_double) const {
    Worst all;
    all.add("output/initial_prediction", prediction, in_double ? 1e-9 : 2e-4);
    all.add("output/losses", losses, in_double ? 1e-9 : 1e-3);
    if (in_double) all.add(parameters.what(), parameters.error(), 1e-8);
    return all;
  }

  std::string text(bool in_double) const {
    const std::string numbers = fmt::format("{:.1e} {:.1e} {:.1e}", prediction, losses, parameters.error());
    const Worst all = worst(in_double);
    return all.passed() ? numbers : fmt::format("{} ({}: {:g} allowed)", numbers, all.what(), all.allowed());
  }
};

template <class Scalar>
ModelErrors train(const Case& reference, const ModelPlan& plan) {
  const auto subject = support::make_model<Scalar>(plan);
  set_parameters(subject->parameters(), reference.parameters);
  match_parameters(subject->parameters(), reference.final_parameters, "final_param");
  const Tokens x = model_input(reference, "x"), target = model_input(reference, "target");
  match_shape(target, x.shape, plan.targets, "input/target");

  ModelErrors errors;
  Training<Scalar> training(*subject, x, target);
  const Array& prediction = array_of(reference.output, "output", "initial_prediction");
  if (prediction.values.size() != target.values.size()) throw Failed("output/initial_prediction has another size");
  errors.prediction = relative_error(training.predict(), prediction.values, largest_magnitude(prediction.values));

  const Array& losses = array_of(reference.output, "output", "losses");
  const int steps = whole_attribute(reference, "steps");
  const double learning_rate = number_attribute(reference, "lr");
  if (static_cast<int>(losses.values.size()) != steps)
    throw Failed(fmt::format("output/losses has {} entries for {} steps", losses.values.size(), steps));
  std::vector<double> computed;
  for (int number = 1; number <= steps; ++number) computed.push_back(training.step(number, learning_rate));
  if (const std::string complaint = subject->complaint(); !complaint.empty()) throw Failed(complaint);
  errors.losses = relative_error(computed, losses.values, largest_magnitude(losses.values));

  const double largest = largest_of(reference.final_parameters);
  for (const auto& entry : subject->parameters().entries())
    errors.parameters.add(
        "final_param/" + entry.name,
        relative_error(subject->parameters().get(entry), reference.final_parameters.at(entry.name).values, largest), 1);
  return errors;
}

Verdict check_model(const Case& reference) {
  if (const std::string name = text_attribute(reference, "layer"); name != "sine")
    throw Skipped("model/" + name + " is not known");
  if (const std::string optimizer = text_attribute(reference, "optimizer"); optimizer != "adam")
    throw Skipped("optimizer " + optimizer + " is not known");
  const ModelPlan plan = plan_of(reference);
  const ModelErrors in_double = train<double>(reference, plan), in_single = train<float>(reference, plan);
  const bool passed = in_double.worst(true).passed() && in_single.worst(false).passed();
  return {passed ? Verdict::Status::passed : Verdict::Status::failed,
          fmt::format("double {}   single {}   (prediction, losses, final parameters)", in_double.text(true),
                      in_single.text(false))};
}

}  // namespace

Verdict check(const Case& reference) {
  const std::string kind = text_attribute(reference, "kind");
  if (kind == "block") return check_block(reference);
  if (kind == "model") return check_model(reference);
  if (kind == "position") return check_positions(reference);
  if (kind == "bias") return check_bias(reference);
  return check_layer(reference, kind);
}

}  // namespace ridgeline::reference
