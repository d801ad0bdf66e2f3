// Backward passes of blocks and models against differences, in double; the conformance kit does layers.
#include <gtest/gtest.h>

#include "cases.hpp"
#include "conform/gradient_check.hpp"

namespace ridgeline::support {
namespace {

constexpr double allowed = 1e-7;

void expect_right_gradients(Subject<double>& subject, const Shape& shape, int entries) {
  const Tokens x = random_tokens(shape, subject.inputs(), 11), dy = random_tokens(shape, subject.outputs(), 12);
  GradientCheck check;
  check.entries = entries;
  const GradientError worst = worst_gradient(subject, x, dy, check);
  EXPECT_LT(worst.error, allowed) << worst.text();
  EXPECT_EQ(subject.complaint(), "");
}

const LayerName small_attention{"attention", "functional", {{"heads", "3"}, {"basis", "2"}, {"ridge", "0.1"}}};
const LayerName small_ffn{"ffn", "mlp", {{"hidden", "6"}}};

class BlockGradient : public ::testing::TestWithParam<Residual> {};
INSTANTIATE_TEST_SUITE_P(, BlockGradient, ::testing::Values(Residual::normed, Residual::pre),
                         [](const auto& test) { return test.param == Residual::normed ? "normed" : "pre"; });

TEST_P(BlockGradient, IsThatOfDifferences) {
  for (const Shape& shape : {Shape{2, 7}, Shape{1, 1}, Shape{3, 1}, Shape{1, 37}}) {
    SCOPED_TRACE(shape.tokens);
    const auto block = make_block<double>(GetParam(), small_attention, small_ffn, 5);
    block->prepare({shape});
    randomise(block->parameters(), 2);
    expect_right_gradients(*block, shape, 6);
  }
}

TEST(ModelGradient, IsThatOfDifferences) {
  ModelPlan plan;
  plan.inputs = 2;
  plan.targets = 3;
  plan.width = 5;
  plan.encoder = {"mlp", option_values({"encoder", "mlp", {{"layers", "2"}}})};
  plan.attention.assign(2, {"functional", option_values(small_attention)});
  plan.ffn = {"mlp", option_values(small_ffn)};
  for (const Residual residual : {Residual::normed, Residual::pre}) {
    plan.residual = residual;
    const auto model = make_model<double>(plan);
    model->prepare({{2, 9}});
    randomise(model->parameters(), 3);
    expect_right_gradients(*model, {2, 9}, 4);
  }
}

// ---- the check itself is checked ----

template <class Body>
void for_each_entry(const Tensor<const double>& x, const Body& body) {
  using Range = Kokkos::MDRangePolicy<Execution, Kokkos::Rank<3>>;
  Kokkos::parallel_for("ridgeline::test/wrong_entry", Range({0, 0, 0}, {extent(x, 0), extent(x, 1), extent(x, 2)}),
                       body);
}

/// y = weight x², with a gradient of weight[1] that is off by a part in a hundred thousand.
class WrongEntry final : public Subject<double> {
 public:
  WrongEntry() : Subject(2, 2) {
    ParameterScope<double>(parameters_, "").declare(weight_, "weight", {2}, Initial::uniform(-1, 1));
    parameters_.allocate();
  }
  Parameters<double>& parameters() override { return parameters_; }
  void prepare(const std::vector<Shape>&) override {}
  void forward(Tensor<const double> x, Tensor<const double>, Tensor<double> y) override {
    const auto weight = weight_.value;
    for_each_entry(
        x, KOKKOS_LAMBDA(int b, int n, int c) { y(b, n, c) = weight(c) * x(b, n, c) * x(b, n, c); });
  }
  void backward(Tensor<const double> x, Tensor<const double> dy, Tensor<double> dx) override {
    const auto weight = weight_.value, gradient = weight_.gradient;
    for_each_entry(
        x, KOKKOS_LAMBDA(int b, int n, int c) {
          dx(b, n, c) = 2 * weight(c) * x(b, n, c) * dy(b, n, c);
          Kokkos::atomic_add(&gradient(c), x(b, n, c) * x(b, n, c) * dy(b, n, c) * (c == 1 ? 1 + 1e-5 : 1));
        });
  }
  std::string complaint() const override { return ""; }
  void clear_signals() override {}

 private:
  Parameters<double> parameters_;
  Parameter<double> weight_;
};

TEST(GradientCheckItself, NamesAWrongEntry) {
  WrongEntry wrong;
  randomise(wrong.parameters(), 1);
  const Shape shape{2, 3};
  const GradientError worst = worst_gradient(wrong, random_tokens(shape, 2, 1), random_tokens(shape, 2, 2));
  EXPECT_EQ(worst.where, "weight[1]");
  EXPECT_GT(worst.error, allowed);
}

}  // namespace
}  // namespace ridgeline::support
