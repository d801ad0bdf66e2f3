// What a run takes from Kokkos: as much as `check` says, nothing more after the first step; and how kernels are named.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/tools.hpp"
#include "driver/experiment.hpp"
#include "driver/session.hpp"
#include "io/image_file.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

/// What Kokkos does while it lives.
class Listener final : ToolsListener {
 public:
  struct Copy {
    std::string to, from;
    std::uint64_t bytes;
  };
  double bytes = 0, peak = 0;
  int allocations = 0;
  std::vector<std::string> kernels;
  std::vector<Copy> copies;

 private:
  void begin_kernel(const char* name) override { kernels.emplace_back(name); }
  void allocate(const char* /*name*/, std::uint64_t size) override {
    bytes += static_cast<double>(size);
    peak = std::max(peak, bytes);
    ++allocations;
  }
  void deallocate(const char* /*name*/, std::uint64_t size) override { bytes -= static_cast<double>(size); }
  void begin_deep_copy(const char* to, const char* from, std::uint64_t size) override {
    copies.push_back({to, from, size});
  }
};

Experiment experiment_with(const std::vector<std::string>& settings) {
  const Place place;
  std::vector<Override> overrides;
  overrides.reserve(settings.size());
  for (const std::string& setting : settings) overrides.push_back(Override::parse(setting));
  return read_experiment(Deck::read((place / "tiny.ini").string()), overrides);
}

/// As `run` does it: evaluation, an epoch, evaluation.
template <class Scalar>
void train(Session<Scalar>& session) {
  session.evaluate(Session<Scalar>::As::untrained);
  while (!session.trainer().finished()) session.trainer().step();
  session.evaluate();
  session.evaluate(Session<Scalar>::As::trained);
}

template <class Scalar>
void expect_need(const std::vector<std::string>& settings) {
  const Experiment experiment = experiment_with(settings);
  Model<Scalar> model(experiment.model);
  const double expected = memory_need(experiment, model).total();
  const Listener listener;
  {
    Session<Scalar> session(experiment);
    train(session);
  }
  EXPECT_NEAR(listener.peak, expected, 0.2 * expected) << ::testing::PrintToString(settings);
}

TEST(Memory, CheckSaysWhatARunTakes) {
  expect_need<float>({"train.steps=2"});
  expect_need<double>({"train.steps=2", "run.precision=double"});
  expect_need<float>({"train.steps=2", "data.functions=500", "data.x=-3 3 0.05"});
  expect_need<float>({"train.steps=2", "data.functions=500", "eval.far.functions=2000", "train.batch=64"});
  expect_need<float>({"train.steps=2", "model.width=64", "model.blocks=3", "ffn.mlp.hidden=256"});
  expect_need<float>({"train.steps=2", "data.resample=yes", "data.mask_channel=yes", "data.functions=300"});
  expect_need<float>({"train.steps=2", "attention.functional.order=direct", "data.x=-3 3 0.02"});
}

/// Blank images of 12 x 10 pixels, so many of them made for the report.
Experiment experiment_of_images(const Place& place, int made) {
  Images images;
  images.count = 8;
  images.rows = 12;
  images.columns = 10;
  images.channels = 1;
  images.levels.assign(static_cast<std::size_t>(images.count) * images.tokens(), 0);
  images.labels.assign(static_cast<std::size_t>(images.count), 0);
  hdf5::write_atomically(place / "images.h5", [&](hdf5::File& file) { write_images(file, "train", images); });
  place.put("images.ini",
            "[data]\ntask = images\nfile = images.h5\nlevels = 2\n[model]\nwidth = 32\nblocks = 2\nattention = causal\n"
            "[train]\nsteps = 1\n");
  return read_experiment(Deck::read((place / "images.ini").string()),
                         {Override::parse("report.samples=" + std::to_string(made))});
}

TEST(Memory, WhatMakesTheReportsImagesIsCounted) {
  const Place place;
  const auto need_and_held = [&](int made) {
    const Experiment experiment = experiment_of_images(place, made);
    Model<float> model(experiment.model);
    const double need = memory_need(experiment, model).total();
    const Listener listener;
    const Session<float> session(experiment);
    return std::make_pair(need, listener.bytes);
  };
  need_and_held(0);  // what Kokkos keeps from its first kernels on
  const auto [need_without, held_without] = need_and_held(0);
  const auto [need, held] = need_and_held(8);
  EXPECT_GT(held, held_without);
  EXPECT_NEAR(need - need_without, held - held_without, 0.02 * (held - held_without));
}

TEST(Memory, AnEvaluationWithoutAReportHasNoRoomForItsImages) {
  const Place place;
  const Experiment experiment = experiment_of_images(place, 8);
  const auto need_and_held = [&](For purpose) {
    Model<float> model(experiment.model);
    const double need = memory_need(experiment, model, purpose).total();
    const Listener listener;
    const Session<float> session(experiment, purpose);
    return std::make_pair(need, listener.bytes);
  };
  need_and_held(For::report);
  const auto [need, held] = need_and_held(For::figures);
  const auto [need_of_report, held_of_report] = need_and_held(For::report);
  EXPECT_GT(held_of_report, held);
  EXPECT_NEAR(need_of_report - need, held_of_report - held, 0.02 * (held_of_report - held));
}

TEST(Memory, ExperimentOfTheManualFitsWhatCheckSays) {
  // The shapes of inputs/sine.ini, for a few functions and a step.
  expect_need<float>({"train.steps=1", "data.functions=16", "data.x=-6 6 0.1", "eval.far.x=-3 15 0.1",
                      "model.width=128", "model.blocks=2", "encoder.mlp.layers=4", "attention.functional.heads=8",
                      "attention.functional.basis=8", "ffn.mlp.hidden=512", "train.batch=8"});
}

/// Every step after the first: no memory taken, nothing copied but its status, and the order of an epoch before it.
void expect_lean_steps(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  all.emplace_back("train.steps=12");
  const Experiment experiment = experiment_with(all);
  Session<float> session(experiment);
  session.trainer().step();
  for (int step = 1; step < 12; ++step) {
    const Listener listener;
    session.trainer().step();
    const bool begins_epoch = step % 3 == 0;
    EXPECT_EQ(listener.allocations, 0) << "step " << step;
    EXPECT_EQ(listener.copies.size(), begins_epoch ? 2U : 1U) << "step " << step;
    for (const Listener::Copy& copy : listener.copies)
      EXPECT_LE(copy.bytes, 64U) << " bytes from " << copy.from << " to " << copy.to;
  }
}

TEST(Memory, StepsAfterTheFirstTakeNoneAndCopyNothing) {
  expect_lean_steps({});
  expect_lean_steps({"train.gradient_clip=1", "train.schedule=one_cycle", "train.loss=hidden"});
  expect_lean_steps({"model.residual=pre", "attention.functional.normalization=per_head"});
  expect_lean_steps({"attention.functional.order=direct"});
  expect_lean_steps({"attention.functional.basis=11"});
}

TEST(Memory, EveryKernelHasANameThatIsInTheSource) {
  const Experiment experiment = experiment_with({"train.steps=3", "train.gradient_clip=1"});
  const Listener listener;
  {
    Session<float> session(experiment);
    train(session);
  }
  EXPECT_GT(listener.kernels.size(), 100U);
  for (const std::string& kernel : listener.kernels)
    EXPECT_TRUE(kernel.rfind("ridgeline::", 0) == 0 || kernel.rfind("Kokkos", 0) == 0) << kernel;
}

TEST(Memory, EvaluationTakesTheSameWhateverTheEpoch) {
  const Experiment experiment = experiment_with({"train.steps=3"});
  Session<float> session(experiment);
  session.evaluate();
  const Listener listener;
  session.evaluate();
  EXPECT_LE(listener.bytes, 0);
}

}  // namespace
}  // namespace ridgeline::program
