#include "train/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/region.hpp"
#include "core/stop.hpp"

namespace ridgeline {

std::vector<int> classes_in_turn(const Task& task, int count) {
  const std::vector<int> classes = task.labels();
  std::vector<int> labels;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) labels.push_back(classes[i % classes.size()]);
  return labels;
}

Images images_of(const Task& task, const std::vector<double>& targets, const SamplingPlan& plan) {
  Images images;
  images.count = plan.count;
  images.rows = task.grid().rows;
  images.columns = task.grid().columns;
  images.channels = task.targets();
  images.has_channel_extent = images.channels > 1;
  images.levels.assign(targets.begin(), targets.end());
  images.labels.assign(plan.labels.begin(), plan.labels.end());
  images.largest_level = task.levels() - 1;
  return images;
}

int draw_level(const double* logits, int levels, double temperature, double uniform) {
  const int most_probable = static_cast<int>(std::max_element(logits, logits + levels) - logits);
  if (temperature == 0) return most_probable;
  const auto weight = [&](int level) { return std::exp((logits[level] - logits[most_probable]) / temperature); };
  double sum = 0;
  for (int level = 0; level < levels; ++level) sum += weight(level);
  double left = uniform * sum;
  for (int level = 0; level < levels; ++level) {
    left -= weight(level);
    if (left < 0) return level;
  }
  return most_probable;  // rounding left nothing over
}

template <class Scalar>
Sampler<Scalar>::Sampler(Model<Scalar>& model, const Task& task, Extra extra, int at_once)
    : model_(model),
      task_(task),
      extra_(extra),
      at_once_(at_once),
      input_("ridgeline::sampler/input", static_cast<std::size_t>(at_once) * task.channels()),
      more_("ridgeline::sampler/extra", static_cast<std::size_t>(at_once) * task.extra_channels(extra)),
      output_("ridgeline::sampler/output", static_cast<std::size_t>(at_once) * task.outputs()),
      host_input_(Kokkos::create_mirror_view(input_)),
      host_more_(Kokkos::create_mirror_view(more_)),
      host_output_(Kokkos::create_mirror_view(output_)) {
  model_.prepare_sequence({at_once, task.tokens()});
}

template <class Scalar>
double Sampler<Scalar>::bytes(Model<Scalar>& model, const Task& task, Extra extra, int at_once) {
  const double of_a_token = task.channels() + task.extra_channels(extra) + task.outputs();
  return static_cast<double>(model.bytes_for_sequence({at_once, task.tokens()})) +
         sizeof(Scalar) * at_once * of_a_token;
}

/// The next token of every sequence: its input, and what the model gives for it.
template <class Scalar>
void Sampler<Scalar>::feed(const SamplingPlan& plan, int first, int token, const std::vector<double>& targets) {
  const int channels = task_.channels(), extras = task_.extra_channels(extra_), width = task_.targets();
  std::vector<double> input(static_cast<std::size_t>(channels)), more(static_cast<std::size_t>(extras));
  for (int b = 0; b < at_once_; ++b) {
    const int sample = std::min(first + b, plan.count - 1);  // those beyond are as the last, and looked at by nobody
    const double* own = targets.data() + (static_cast<std::size_t>(sample) * task_.tokens() + token) * width;
    task_.encode(token > 0 ? own - width : nullptr, input.data());
    std::copy(input.begin(), input.end(), host_pointer(host_input_) + static_cast<std::ptrdiff_t>(b) * channels);
    if (extras == 0) continue;
    const int label = plan.labels.empty() ? 0 : plan.labels[static_cast<std::size_t>(sample)];
    task_.encode_extra(extra_, label, own, more.data());
    std::copy(more.begin(), more.end(), host_pointer(host_more_) + static_cast<std::ptrdiff_t>(b) * extras);
  }
  Kokkos::deep_copy(input_, host_input_);
  if (extras > 0) Kokkos::deep_copy(more_, host_more_);
  model_.next_token(Tensor<const Scalar>(input_.data(), at_once_, 1, channels),
                    Tensor<Scalar>(output_.data(), at_once_, 1, task_.outputs()),
                    extras > 0 ? Tensor<const Scalar>(more_.data(), at_once_, 1, extras) : Tensor<const Scalar>());
  Kokkos::deep_copy(host_output_, output_);
}

/// Samples first, first + 1, …, as many as there is room for: their first `tokens` tokens.
template <class Scalar>
void Sampler<Scalar>::run(const SamplingPlan& plan, int first, int tokens, std::vector<double>& targets,
                          std::vector<double>* logits) {
  const RandomStream draws(plan.seed, "sample/levels");
  const int width = task_.targets(), outputs = task_.outputs(), levels = task_.levels();
  const int count = std::min(at_once_, plan.count - first);
  model_.begin_sequence();
  std::vector<double> row(static_cast<std::size_t>(outputs));
  for (int token = 0; token < tokens; ++token) {
    check_stop();
    // An image that is told to the model is told as far as it is known. What a token is told of itself it may not see,
    // but those after it do: they are given the sequence again.
    if (extra_ == Extra::image && token > 0) {
      model_.begin_sequence();
      for (int before = 0; before < token; ++before) feed(plan, first, before, targets);
    }
    feed(plan, first, token, targets);
    for (int b = 0; b < count; ++b) {
      const std::size_t sample = static_cast<std::size_t>(first) + static_cast<std::size_t>(b);
      const Scalar* found = host_pointer(host_output_) + static_cast<std::ptrdiff_t>(b) * outputs;
      std::copy(found, found + outputs, row.begin());
      if (!std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); }))
        throw Error(Exit::numerical,
                    fmt::format("what the model gives for token {} of sample {} is not finite.", token, sample));
      const std::size_t at = sample * static_cast<std::size_t>(task_.tokens()) + static_cast<std::size_t>(token);
      if (logits != nullptr)
        std::copy(row.begin(), row.end(),
                  logits->begin() + static_cast<std::ptrdiff_t>((sample * tokens + token) * outputs));
      if (token < plan.kept) continue;
      for (int c = 0; c < width; ++c)
        targets[at * width + c] = draw_level(row.data() + static_cast<std::ptrdiff_t>(c) * levels, levels,
                                             plan.temperature, draws.uniform(at * width + c));
    }
  }
}

namespace {

/// [count, tokens, targets], with what is given.
std::vector<double> begin_targets(const Task& task, const SamplingPlan& plan) {
  const std::size_t whole = static_cast<std::size_t>(task.tokens()) * task.targets();
  const std::size_t kept = static_cast<std::size_t>(plan.kept) * task.targets();
  std::vector<double> targets(static_cast<std::size_t>(plan.count) * whole);
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan.count) && kept > 0; ++i)
    std::copy_n(plan.given.begin() + static_cast<std::ptrdiff_t>(i * kept), kept,
                targets.begin() + static_cast<std::ptrdiff_t>(i * whole));
  return targets;
}

}  // namespace

template <class Scalar>
std::vector<double> Sampler<Scalar>::sample(const SamplingPlan& plan) {
  const Region region("sampling");
  std::vector<double> targets = begin_targets(task_, plan);
  for (int first = 0; first < plan.count; first += at_once_) run(plan, first, task_.tokens(), targets, nullptr);
  return targets;
}

template <class Scalar>
std::vector<double> Sampler<Scalar>::logits(const SamplingPlan& plan) {
  const Region region("sampling");
  std::vector<double> targets = begin_targets(task_, plan);
  std::vector<double> found(static_cast<std::size_t>(plan.count) * plan.kept * task_.outputs());
  for (int first = 0; first < plan.count; first += at_once_) run(plan, first, plan.kept, targets, &found);
  return found;
}

template class Sampler<float>;
template class Sampler<double>;

}  // namespace ridgeline
