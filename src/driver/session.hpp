// An experiment in memory: its sets, its model, and what trains and evaluates it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "driver/experiment.hpp"
#include "driver/score_bias.hpp"
#include "io/image_file.hpp"
#include "io/results.hpp"
#include "train/evaluate.hpp"
#include "train/sampler.hpp"
#include "train/trainer.hpp"

namespace ridgeline {

/// How much memory an experiment takes, in bytes.
struct MemoryNeed {
  double parameters = 0;   ///< with gradients and the optimiser's moments
  double activations = 0;  ///< and scratch, of the largest step or evaluation, and of making the report's images
  double data = 0;         ///< all sets, a batch, and predictions
  double results = 0;      ///< on the host, at the end: what results.h5 will hold, and predictions kept for it
  /// Of the device, through Kokkos.
  double total() const { return parameters + activations + data; }
};

/// What a session is for: a report wants images that the model makes, and room to make them.
enum class For { report, figures };

/// Without taking any of it. `model` is not allocated yet.
template <class Scalar>
MemoryNeed memory_need(const Experiment& experiment, Model<Scalar>& model, For purpose = For::report);

/// Throws Error(Exit::mistake) where the need is more than this machine has free, with both figures, as a sentence that
/// begins with who needs it and ends in what needs less.
void check_memory(const MemoryNeed& need, const std::string& who = "this run needs",
                  const std::string& advice = "a smaller batch, model or grid needs less");

template <class Scalar>
class Session {
 public:
  /// Allocates everything, makes the data, and draws the initial parameters. Throws as check_memory.
  explicit Session(const Experiment& experiment, For purpose = For::report);

  Model<Scalar>& model() { return model_; }
  const Model<Scalar>& model() const { return model_; }
  Trainer<Scalar>& trainer() { return *trainer_; }
  const Trainer<Scalar>& trainer() const { return *trainer_; }

  /// Every set's figures with the parameters as they are, train first. Throws as check_stop.
  std::vector<Metrics> evaluate();
  /// The same, kept with the predictions, as those of the trained or the untrained model.
  enum class As { untrained, trained };
  void evaluate(As as);
  /// What the report shows beside: the images that the model makes with the parameters as they are, and what its
  /// attention adds to scores by distance.
  void prepare_report();
  /// Why the model makes no images for the report, where it should; else empty.
  const std::string& why_no_images() const { return why_no_images_; }
  /// What both evaluations found.
  std::vector<SetMetrics> metrics() const;

  /// Writes all sets, with the predictions kept, into an open results file, and what prepare_report made.
  void write_sets(hdf5::File& file) const;

 private:
  void restore_training_set();
  void prepare_images(int at_once);
  void make_images();
  void write_set(hdf5::File& file, std::size_t number) const;

  const Experiment& experiment_;
  Model<Scalar> model_;
  std::deque<DataSet<Scalar>> sets_;
  std::unique_ptr<Evaluator<Scalar>> evaluator_;
  std::unique_ptr<Trainer<Scalar>> trainer_;
  struct Kept {
    std::vector<Scalar> predictions;
    Metrics metrics;
  };
  std::vector<Kept> untrained_, trained_;
  std::unique_ptr<Sampler<Scalar>> sampler_;  // null where no images are made
  std::string why_no_images_;
  Images made_;
  std::vector<ScoreBias> biases_;
};

extern template class Session<float>;
extern template class Session<double>;

}  // namespace ridgeline
