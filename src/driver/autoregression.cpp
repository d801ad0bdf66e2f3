#include "driver/autoregression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "core/region.hpp"

namespace ridgeline {
namespace {

/// Tokens whose targets are changed: all, or as many as keep the work within that of a few steps.
std::vector<int> changed_tokens(int tokens) {
  const int count = std::clamp((1 << 16) / tokens, std::min(tokens, 8), tokens);
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i)
    chosen.push_back(count == 1 ? 0 : static_cast<int>(static_cast<std::int64_t>(i) * (tokens - 1) / (count - 1)));
  return chosen;
}

template <class Scalar>
class Proof {
 public:
  Proof(const Experiment& experiment, Model<Scalar>& model, int samples)
      : experiment_(experiment),
        task_(*experiment.sets.front().task),
        model_(model),
        samples_(samples),
        tokens_(task_.tokens()),
        inputs_("ridgeline::proof/inputs", size(task_.channels())),
        extra_("ridgeline::proof/extra", size(extra_channels())),
        predictions_("ridgeline::proof/predictions", size(task_.outputs())),
        gradient_("ridgeline::proof/gradient", size(task_.outputs())),
        input_gradient_("ridgeline::proof/input_gradient", size(task_.channels())) {}

  void run() {
    const std::vector<int> all = changed_tokens(tokens_);
    for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(samples_)) {
      const std::size_t end = std::min(all.size(), first + static_cast<std::size_t>(samples_));
      changed_.assign(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(end));
      change_targets();
      differentiate();
    }
    Kokkos::deep_copy(model_.parameters().gradients(), Scalar(0));
    model_.clear_signals();
  }

 private:
  using Memory1 = Kokkos::View<Scalar*, Memory>;
  using Numbers = std::vector<Scalar>;

  std::size_t size(int channels) const { return static_cast<std::size_t>(samples_) * tokens_ * channels; }
  int extra_channels() const { return task_.extra_channels(experiment_.extra); }

  /// Predictions, and every state, on the host: [samples, tokens, …].
  struct Outcome {
    Numbers predictions;
    std::vector<Numbers> states;
  };

  static void to_device(const Numbers& numbers, const Memory1& view) {
    const auto host = Kokkos::create_mirror_view(view);
    std::copy(numbers.begin(), numbers.end(), host_pointer(host));
    Kokkos::deep_copy(view, host);
  }

  Tensor<Scalar> tensor(const Memory1& view, int channels) const {
    return Tensor<Scalar>(view.data(), samples_, tokens_, channels);
  }

  /// Of one sample of the task in every row, with or without its changed target.
  void load(bool with_change) {
    const int channels = task_.channels(), targets = task_.targets(), extras = extra_channels();
    std::vector<double> made(static_cast<std::size_t>(tokens_) * targets), original(made.size());
    std::vector<double> input(static_cast<std::size_t>(tokens_) * channels), extra(static_cast<std::size_t>(extras));
    std::vector<std::uint8_t> shown(static_cast<std::size_t>(tokens_));
    task_.make(0, input.data(), original.data(), shown.data());
    Numbers inputs(inputs_.size()), extra_numbers(extra_.size());
    for (int b = 0; b < samples_; ++b) {
      made = original;
      if (with_change && static_cast<std::size_t>(b) < changed_.size())
        for (int c = 0; c < targets; ++c) {
          double& level = made[static_cast<std::size_t>(changed_[static_cast<std::size_t>(b)]) * targets + c];
          level = level + 1 < task_.levels() ? level + 1 : 0;
        }
      for (int n = 0; n < tokens_; ++n) {
        const double* own = made.data() + static_cast<std::size_t>(n) * targets;
        const std::size_t token = static_cast<std::size_t>(b) * tokens_ + n;
        task_.encode(n > 0 ? own - targets : nullptr, input.data());
        std::copy_n(input.begin(), channels, inputs.begin() + static_cast<std::ptrdiff_t>(token * channels));
        if (extras == 0) continue;
        task_.encode_extra(experiment_.extra, 0, own, extra.data());
        std::copy_n(extra.begin(), extras, extra_numbers.begin() + static_cast<std::ptrdiff_t>(token * extras));
      }
    }
    to_device(inputs, inputs_);
    to_device(extra_numbers, extra_);
  }

  void forward() {
    const Tensor<const Scalar> extra =
        extra_channels() > 0 ? Tensor<const Scalar>(tensor(extra_, extra_channels())) : Tensor<const Scalar>();
    model_.forward(tensor(inputs_, task_.channels()), tensor(predictions_, task_.outputs()), extra);
  }

  Outcome outcome(bool with_change) {
    load(with_change);
    forward();
    Outcome found{host_copy(predictions_), {}};
    const std::size_t blocks = experiment_.model.attention.size();
    for (std::size_t i = 0; i <= blocks; ++i) found.states.push_back(host_copy(model_.state(i)));
    return found;
  }

  /// The first token of a sample, up to `last`, whose numbers are not the same bits; -1 where there is none.
  int first_difference(const Numbers& one, const Numbers& other, std::size_t sample, int last) const {
    const std::size_t channels = one.size() / (static_cast<std::size_t>(samples_) * tokens_);
    for (int n = 0; n <= last; ++n) {
      const std::size_t at = (sample * static_cast<std::size_t>(tokens_) + static_cast<std::size_t>(n)) * channels;
      if (std::memcmp(one.data() + at, other.data() + at, channels * sizeof(Scalar)) != 0) return n;
    }
    return -1;
  }

  void change_targets() {
    const Outcome before = outcome(false), after = outcome(true);
    for (std::size_t b = 0; b < changed_.size(); ++b) {
      const int changed = changed_[b];
      const int seen = first_difference(before.predictions, after.predictions, b, changed);
      if (seen < 0) continue;
      std::size_t part = 0;  // the first state that differs: what came before it let the change through
      while (part < before.states.size() && first_difference(before.states[part], after.states[part], b, changed) < 0)
        ++part;
      throw refusal(
          fmt::format("{} lets the prediction of token {} see the target of token {}", name_of(part), seen, changed));
    }
  }

  /// The part of the model that made a state.
  std::string name_of(std::size_t state) const {
    const std::size_t blocks = experiment_.model.attention.size();
    if (state == 0) return "the encoder";
    if (state > blocks) return "the head";
    return fmt::format("block {} (attention {}, ffn {})", state - 1, experiment_.model.attention[state - 1].name,
                       experiment_.model.ffn.name);
  }

  void differentiate() {
    const int outputs = task_.outputs(), channels = task_.channels();
    load(false);
    forward();
    const RandomStream weights(experiment_.seed, "proof/weights");
    Numbers gradient(gradient_.size());
    for (std::size_t b = 0; b < changed_.size(); ++b) {
      const std::size_t begin = b * static_cast<std::size_t>(tokens_) * outputs;
      const std::size_t end = begin + static_cast<std::size_t>(changed_[b] + 1) * outputs;
      for (std::size_t i = begin; i < end; ++i) gradient[i] = static_cast<Scalar>(weights.uniform(i, -1, 1));
    }
    to_device(gradient, gradient_);
    model_.backward(tensor(inputs_, channels), tensor(gradient_, outputs), tensor(input_gradient_, channels));
    const Numbers found = host_copy(input_gradient_);
    for (std::size_t b = 0; b < changed_.size(); ++b)
      for (int n = changed_[b] + 1; n < tokens_; ++n) {
        const auto begin =
            found.begin() + static_cast<std::ptrdiff_t>((b * static_cast<std::size_t>(tokens_) + n) * channels);
        if (std::any_of(begin, begin + channels, [](Scalar value) { return value != 0; }))
          throw refusal(fmt::format("predictions up to token {} have a gradient with respect to the input of token {}",
                                    changed_[b], n));
      }
  }

  Error refusal(const std::string& what) const {
    return {Exit::mistake, fmt::format("{}: the model is not autoregressive, as the task {} needs it: {}{}.",
                                       experiment_.deck, experiment_.task, what, hint())};
  }

  /// Which attention may look at the token's own image, where that is so.
  std::string hint() const {
    if (experiment_.extra != Extra::image) return "";
    std::vector<std::string> unmasked;
    for (const LayerChoice& attention : experiment_.model.attention) {
      const Option* mask = attention.options.options().find("mask_center");
      const std::string section = "[attention." + attention.name + "]";
      if (mask == nullptr || mask->type() != Option::Type::flag || attention.options.flag("mask_center")) continue;
      if (std::find(unmasked.begin(), unmasked.end(), section) == unmasked.end()) unmasked.push_back(section);
    }
    if (unmasked.empty()) return "";
    return fmt::format("; with `extra = image` {} {} `mask_center = yes`", phrase(unmasked, "and"),
                       unmasked.size() == 1 ? "needs" : "need");
  }

  const Experiment& experiment_;
  const Task& task_;
  Model<Scalar>& model_;
  int samples_, tokens_;
  Memory1 inputs_, extra_, predictions_, gradient_, input_gradient_;
  std::vector<int> changed_;  // the token of each sample
};

/// Samples that the proof takes at a time.
int samples_of_proof(const Experiment& experiment) {
  const auto changed = static_cast<int>(changed_tokens(experiment.sets.front().task->tokens()).size());
  return std::min(experiment.training.batch, changed);
}

}  // namespace

template <class Scalar>
void prove_autoregressive(const Experiment& experiment, Model<Scalar>& model, int samples) {
  if (!experiment.sets.front().task->is_autoregressive()) return;
  const Region region("proof");
  Proof<Scalar>(experiment, model, samples).run();
}

template <class Scalar>
void prove_autoregressive(const Experiment& experiment) {
  const Task& train = *experiment.sets.front().task;
  if (!train.is_autoregressive()) return;
  const int samples = samples_of_proof(experiment);
  Model<Scalar> model(experiment.model);
  model.allocate();
  model.parameters().initialise(experiment.seed);
  model.prepare({{samples, train.tokens()}});
  prove_autoregressive(experiment, model, samples);
}

template <class Scalar>
double bytes_of_proof(const Experiment& experiment) {
  const Task& train = *experiment.sets.front().task;
  if (!train.is_autoregressive()) return 0;
  const Shape shape{samples_of_proof(experiment), train.tokens()};
  Model<Scalar> model(experiment.model);
  const double states = (static_cast<double>(experiment.model.attention.size()) + 1) * experiment.model.width;
  const double outcome = train.outputs() + states;  // on the host, of a token: with a change and without
  const double views = 2.0 * train.channels() + train.extra_channels(experiment.extra) + 2.0 * train.outputs();
  return static_cast<double>(model.bytes_for({shape})) +
         sizeof(Scalar) * (2.0 * static_cast<double>(model.parameters().length()) +
                           static_cast<double>(shape.rows()) * (views + 2 * outcome));
}

#define RIDGELINE_INSTANTIATE(Scalar)                                         \
  template void prove_autoregressive(const Experiment&, Model<Scalar>&, int); \
  template void prove_autoregressive<Scalar>(const Experiment&);              \
  template double bytes_of_proof<Scalar>(const Experiment&);

RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline
