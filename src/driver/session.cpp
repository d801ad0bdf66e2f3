#include "driver/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/region.hpp"
#include "driver/autoregression.hpp"
#include "io/free_memory.hpp"

namespace ridgeline {
namespace {

/// Tokens that an evaluation takes at a time: as many as a training step.
int evaluation_rows(const Experiment& experiment) {
  return experiment.training.batch * experiment.sets.front().task->tokens();
}

/// Images for the report that are made at a time; 0 where none are to be made.
int images_at_once(const Experiment& experiment, For purpose) {
  const Task& train = *experiment.sets.front().task;
  if (purpose != For::report || !train.is_autoregressive() || train.grid().rows == 0) return 0;
  return std::min(experiment.report_samples, experiment.training.batch);
}

/// Bytes of what makes them.
template <class Scalar>
double bytes_of_sampler(const Experiment& experiment, Model<Scalar>& model, int at_once) {
  if (at_once == 0) return 0;
  try {
    return Sampler<Scalar>::bytes(model, *experiment.sets.front().task, experiment.extra, at_once);
  } catch (const Error&) {
    return 0;  // the model makes none: the session says why
  }
}

}  // namespace

template <class Scalar>
MemoryNeed memory_need(const Experiment& experiment, Model<Scalar>& model, For purpose) {
  const Task& train = *experiment.sets.front().task;
  MemoryNeed need;
  need.parameters = 4.0 * sizeof(Scalar) * static_cast<double>(model.parameters().length());
  std::vector<Shape> shapes = batches_of(train.samples(), experiment.training.batch, train.tokens());
  double largest = 0, making = 0;
  for (const TaskSet& set : experiment.sets) {
    const int batch =
        Evaluator<Scalar>::batch_for(evaluation_rows(experiment), set.task->samples(), set.task->tokens());
    const std::vector<Shape> more = batches_of(set.task->samples(), batch, set.task->tokens());
    shapes.insert(shapes.end(), more.begin(), more.end());
    need.data += DataSet<Scalar>::bytes(*set.task, experiment.extra);
    const double of_sample = static_cast<double>(set.task->tokens()) * set.task->outputs() * sizeof(Scalar);
    largest = std::max(largest, batch * of_sample);
    need.results += DataSet<Scalar>::bytes(*set.task) + 4 * set.task->samples() * of_sample;
    making = std::max(making, DataSet<Scalar>::bytes_to_fill(*set.task, experiment.extra));
  }
  need.results = std::max(need.results, making);  // one is done with when the other begins
  need.activations = static_cast<double>(model.bytes_for(shapes)) +
                     bytes_of_sampler(experiment, model, images_at_once(experiment, purpose));
  need.data += largest + Trainer<Scalar>::bytes(0, train, experiment.training.batch, experiment.extra);
  return need;
}

void check_memory(const MemoryNeed& need, const std::string& who, const std::string& advice) {
  if constexpr (!host_reads_memory) return;  // a device says so itself when its memory is full
  const double free = free_memory();
  if (need.total() + need.results <= free) return;
  throw Error(Exit::mistake,
              fmt::format("{} {:.3g} GiB of memory ({:.3g} for parameters, {:.3g} for activations, {:.3g} for data and "
                          "results), and {:.3g} GiB are free; {}.",
                          who, (need.total() + need.results) / 0x1p30, need.parameters / 0x1p30,
                          need.activations / 0x1p30, (need.data + need.results) / 0x1p30, free / 0x1p30, advice));
}

template <class Scalar>
Session<Scalar>::Session(const Experiment& experiment, For purpose)
    : experiment_(experiment), model_(experiment.model) {
  const Region region("set-up");
  check_memory(memory_need(experiment, model_, purpose));
  model_.allocate();
  model_.parameters().initialise(experiment.seed);
  std::vector<const DataSet<Scalar>*> all;
  for (const TaskSet& set : experiment.sets) {
    sets_.emplace_back(set.name, *set.task, experiment.extra);
    sets_.back().fill(*set.task, 0);
    all.push_back(&sets_.back());
  }
  evaluator_ = std::make_unique<Evaluator<Scalar>>(all, *experiment.sets.front().task, evaluation_rows(experiment));
  trainer_ =
      std::make_unique<Trainer<Scalar>>(model_, sets_.front(), *experiment.sets.front().task, experiment.training);
  std::vector<Shape> shapes = trainer_->shapes();
  for (const DataSet<Scalar>* set : all)
    for (const Shape& shape : evaluator_->shapes(*set)) shapes.push_back(shape);
  model_.prepare(shapes);
  prove_autoregressive(experiment, model_, experiment.training.batch);
  prepare_images(images_at_once(experiment, purpose));
}

template <class Scalar>
void Session<Scalar>::prepare_images(int at_once) {
  if (at_once == 0) return;
  try {
    sampler_ = std::make_unique<Sampler<Scalar>>(model_, *experiment_.sets.front().task, experiment_.extra, at_once);
  } catch (const Error& error) {
    why_no_images_ = error.what();
  }
}

template <class Scalar>
void Session<Scalar>::restore_training_set() {
  // Where every epoch has new samples, the set that is reported on is the first epoch's.
  if (experiment_.training.resample) sets_.front().fill(*experiment_.sets.front().task, 0);
}

template <class Scalar>
std::vector<Metrics> Session<Scalar>::evaluate() {
  restore_training_set();
  std::vector<Metrics> all;
  for (const DataSet<Scalar>& set : sets_) all.push_back(evaluator_->evaluate(model_, set));
  return all;
}

template <class Scalar>
void Session<Scalar>::evaluate(As as) {
  restore_training_set();
  std::vector<Kept>& kept = as == As::trained ? trained_ : untrained_;
  kept.assign(sets_.size(), {});
  for (std::size_t i = 0; i < sets_.size(); ++i)
    kept[i].metrics = evaluator_->evaluate(model_, sets_[i], kept[i].predictions);
}

template <class Scalar>
void Session<Scalar>::prepare_report() {
  if (sampler_) make_images();
  biases_ = score_biases(experiment_.model, model_.parameters(), experiment_.model.tokens);
}

template <class Scalar>
void Session<Scalar>::make_images() {
  const Task& train = *experiment_.sets.front().task;
  const int count = experiment_.report_samples;
  SamplingPlan plan;
  plan.count = count;
  plan.seed = experiment_.seed;
  if (experiment_.extra == Extra::class_label) plan.labels = classes_in_turn(train, count);
  made_ = images_of(train, sampler_->sample(plan), plan);
}

template <class Scalar>
std::vector<SetMetrics> Session<Scalar>::metrics() const {
  std::vector<SetMetrics> all;
  for (std::size_t i = 0; i < sets_.size(); ++i)
    all.push_back({sets_[i].name(), untrained_.at(i).metrics, trained_.at(i).metrics});
  return all;
}

template <class Scalar>
void Session<Scalar>::write_set(hdf5::File& file, std::size_t number) const {
  const DataSet<Scalar>& set = sets_[number];
  const Task& task = *experiment_.sets[number].task;
  ResultSet<Scalar> result;
  result.name = set.name();
  result.samples = set.samples();
  result.tokens = set.tokens();
  result.channels = set.channels();
  result.targets = set.targets();
  result.outputs = set.outputs();
  result.grid = task.grid();
  result.channel_names = task.channel_names();
  result.target_names = task.target_names();
  result.inputs = host_copy(set.inputs());
  result.truth = host_copy(set.target_values());
  result.shown = host_copy(set.shown());
  result.predictions = trained_.at(number).predictions;
  result.trained = trained_.at(number).metrics;
  result.untrained_predictions = untrained_.at(number).predictions;
  result.untrained = untrained_.at(number).metrics;
  write_result_set(file, result);
}

template <class Scalar>
void Session<Scalar>::write_sets(hdf5::File& file) const {
  for (std::size_t i = 0; i < sets_.size(); ++i) write_set(file, i);
  if (made_.count > 0) write_images(file, generated_group, made_);
  for (const ScoreBias& bias : biases_) {
    const std::string name = fmt::format("{}/{}", bias_group, bias.block);
    file.write(name, bias.values, {bias.heads, 2 * std::int64_t{bias.tokens} - 1});
    file.write_attribute(name, "position", bias.position);
    file.write_attribute(name, "causal", std::int64_t{bias.causal ? 1 : 0});
  }
}

template MemoryNeed memory_need(const Experiment&, Model<float>&, For);
template MemoryNeed memory_need(const Experiment&, Model<double>&, For);
template class Session<float>;
template class Session<double>;

}  // namespace ridgeline
