// What is said of models that are not autoregressive where their task needs it.
#include <gtest/gtest.h>

#include "driver/session.hpp"
#include "io/image_file.hpp"
#include "support/mistake.hpp"
#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

/// Promises to be pointwise, and gives every token what the last one is.
template <class Scalar>
class LooksAhead final : public Layer<Scalar> {
 public:
  void reserve(const Shape&, Arena&) override {}
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    copy_last(x, residual, y);
  }
  void backward(Tensor<const Scalar>, Tensor<const Scalar>, Tensor<Scalar> dx) override {
    if (dx.data() != nullptr) Kokkos::deep_copy(Execution(), dx, Scalar(0));
  }
  Operations operations(const Shape&) const override { return {}; }

  static void copy_last(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) {
    const int tokens = extent(y, 1), channels = extent(y, 2);
    Kokkos::parallel_for(
        "ridgeline::test/looks_ahead", RangePolicy(0, static_cast<int>(y.size())), KOKKOS_LAMBDA(int i) {
          const int c = i % channels, n = i / channels % tokens, b = i / channels / tokens;
          y(b, n, c) = x(b, tokens - 1, c) + (residual.data() != nullptr ? residual(b, n, c) : Scalar(0));
        });
  }
};

void register_looks_ahead() {
  if (Registry::instance().find("ffn", "looks_ahead") != nullptr) return;
  LayerEntry entry;
  entry.kind = "ffn";
  entry.name = "looks_ahead";
  entry.summary = "every token as the last one, which it does not say";
  entry.properties = [](const OptionValues&) {
    Properties promised;
    promised.pointwise = true;
    return promised;
  };
  entry.make_float = [](Setup<float>&) { return std::make_unique<LooksAhead<float>>(); };
  entry.make_double = [](Setup<double>&) { return std::make_unique<LooksAhead<double>>(); };
  Registry::instance().add(entry);
}

/// How a model of images that sees the image itself is refused.
std::string refusal(const std::string& ffn, const std::string& mask_center) {
  const test::TemporaryFolder folder;
  Images images;
  images.count = 2;
  images.rows = images.columns = 2;
  images.channels = 1;
  images.levels = {0, 1, 2, 1, 2, 2, 0, 1};
  images.labels = {0, 1};
  const std::string file = (folder / "images.h5").string();
  hdf5::write_atomically(file, [&](hdf5::File& out) { write_images(out, "train", images); });
  const std::string deck =
      "[data]\ntask = images\nfile = " + file +
      "\n[model]\nwidth = 4\nblocks = 1\nresidual = pre\nextra = image\nattention = causal\nffn = " + ffn +
      "\n[encoder.mlp]\nlayers = 1\n[attention.causal]\nheads = 1\nmask_center = " + mask_center + "\n";
  const Experiment experiment = read_experiment(Deck::parse(deck, "deck.ini"), {});
  return support::mistake_of([&] { Session<float> session(experiment); });
}

TEST(Autoregression, MaskCenterIsNamedOnlyWhereItHelps) {
  register_looks_ahead();
  EXPECT_EQ(refusal("mlp", "yes"), "none");
  const std::string open = refusal("mlp", "no"), ahead = refusal("looks_ahead", "yes");
  test::expect_contains(open, "block 0 (attention causal, ffn mlp) lets the prediction of token 0 see");
  test::expect_contains(open, " `mask_center = yes`.");
  test::expect_contains(ahead, "deck.ini: the model is not autoregressive, as the task images needs it: block 0");
  EXPECT_EQ(ahead.find("mask_center"), std::string::npos) << ahead;
}

}  // namespace
}  // namespace ridgeline
