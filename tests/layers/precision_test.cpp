// How far single precision leads from double on the founding data: the sine model's second functional attention, with
// fresh weights.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cases.hpp"
#include "data/data_set.hpp"
#include "driver/experiment.hpp"

namespace ridgeline::support {
namespace {

/// What the watched layer of a model was given last.
Kokkos::View<double*, Memory> seen;

/// The layer whose place it takes, with the same parameters, and a copy of what it is given.
class Watched final : public Layer<double> {
 public:
  explicit Watched(std::unique_ptr<Layer<double>> layer) : layer_(std::move(layer)) {}

  void reserve(const Shape& shape, Arena& arena) override { layer_->reserve(shape, arena); }
  void forward(Tensor<const double> x, Tensor<const double> residual, Tensor<double> y) override {
    seen = Kokkos::View<double*, Memory>("seen", x.size());
    Kokkos::deep_copy(seen, Kokkos::View<const double*, Memory, Kokkos::MemoryUnmanaged>(x.data(), x.size()));
    layer_->forward(x, residual, y);
  }
  void backward(Tensor<const double> x, Tensor<const double> dy, Tensor<double> dx) override {
    layer_->backward(x, dy, dx);
  }
  Operations operations(const Shape& shape) const override { return layer_->operations(shape); }

 private:
  std::unique_ptr<Layer<double>> layer_;
};

/// The program's layers, and `attention/watched`, which is attention/functional.
const Registry& registry_with_watched() {
  static const Registry registry = [] {
    Registry all = Registry::instance();
    LayerEntry entry = all.get("attention", "functional");
    entry.name = "watched";
    entry.make_double = [](Setup<double>& setup) {
      return std::make_unique<Watched>(Registry::instance().get("attention", "functional").make<double>(setup));
    };
    all.add(entry);
    return all;
  }();
  return registry;
}

/// Layer and tokens of a batch, as double has them.
struct Scene {
  Tokens x;
  std::map<std::string, std::vector<double>> parameters;
};

/// The second attention of inputs/sine.ini and what it is given of the first samples, before any training.
Scene second_attention(std::uint64_t seed) {
  const Experiment experiment = read_experiment(Deck::read(RIDGELINE_SOURCE_DIR "/inputs/sine.ini"),
                                                {Override::parse("run.seed=" + std::to_string(seed))});
  ModelPlan plan = experiment.model;
  plan.attention[1].name = "watched";
  Model<double> model(plan, registry_with_watched());
  model.allocate();
  model.parameters().initialise(seed);
  const Task& task = *experiment.sets.front().task;
  DataSet<double> set("train", task);
  set.fill(task, 0);
  const Shape shape{experiment.training.batch, task.tokens()};
  model.prepare({shape});
  const Kokkos::View<double*, Memory> prediction("prediction", shape.rows());
  model.forward(Tensor<const double>(set.inputs().data(), shape.batch, shape.tokens, task.channels()),
                Tensor<double>(prediction.data(), shape.batch, shape.tokens, 1));
  Scene scene{{shape, plan.width, to_host<double>(seen)}, {}};
  seen = {};
  const std::string prefix = "blocks.1.attention.";
  for (const auto& entry : model.parameters().entries())
    if (entry.name.compare(0, prefix.size(), prefix) == 0)
      scene.parameters[entry.name.substr(prefix.size())] = model.parameters().get(entry);
  return scene;
}

template <class Scalar>
Tokens output(const Scene& scene) {
  const int width = scene.x.channels;
  LayerAlone<Scalar> layer({"attention", "functional", {}}, width, width);
  layer.prepare({scene.x.shape});
  for (const auto& entry : layer.parameters().entries()) layer.parameters().set(entry, scene.parameters.at(entry.name));
  return evaluate(layer, scene.x);
}

/// max |a - b| beside the largest of b.
double error(const Tokens& a, const Tokens& b) {
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    difference = std::max(difference, std::abs(a.values.at(i) - b.values[i]));
    largest = std::max(largest, std::abs(b.values[i]));
  }
  return difference / largest;
}

class SinglePrecision : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seed, SinglePrecision, ::testing::Range(1, 9));

TEST_P(SinglePrecision, OfFunctionalAttentionIsNearDoubleOnTheFoundingData) {
  const Scene scene = second_attention(static_cast<std::uint64_t>(GetParam()));
  ASSERT_EQ(scene.x.values.size(), std::size_t{8} * 120 * 128);
  const double found = error(output<float>(scene), output<double>(scene));
  EXPECT_LT(found, 3e-4);
  EXPECT_GT(found, 0) << "both ran in double";
  RecordProperty("error", fmt::format("{:.2e}", found));
}

}  // namespace
}  // namespace ridgeline::support
