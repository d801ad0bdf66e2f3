// attention/functional: its two orders, its inner products, and a solve that breaks down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cases.hpp"
#include "conform/gradient_check.hpp"

namespace ridgeline::support {
namespace {

LayerName functional(OptionTexts options) { return {"attention", "functional", std::move(options)}; }

/// max |a - b| beside the largest of b.
double error(const std::vector<double>& a, const std::vector<double>& b, double at_least = 0) {
  double difference = 0, largest = at_least;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference = std::max(difference, std::abs(a.at(i) - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return difference / largest;
}

struct OrderCase {
  const char* normalization;
  const char* inner_product;
};

class FunctionalOrders : public ::testing::TestWithParam<OrderCase> {};
INSTANTIATE_TEST_SUITE_P(, FunctionalOrders,
                         ::testing::Values(OrderCase{"joint", "sum"}, OrderCase{"joint", "mean"},
                                           OrderCase{"per_head", "sum"}, OrderCase{"per_head", "mean"}),
                         [](const auto& test) {
                           return std::string(test.param.normalization) + "_" + test.param.inner_product;
                         });

TEST_P(FunctionalOrders, AreEqualForwardAndBackward) {
  for (const Sizes& sizes : every_size)
    for (const char* basis : {"2", "6"}) {
      OptionTexts options = {{"heads", "3"},
                             {"basis", basis},
                             {"ridge", "1"},
                             {"normalization", GetParam().normalization},
                             {"inner_product", GetParam().inner_product},
                             {"order", "contracted"}};
      SCOPED_TRACE(text(functional(options), sizes));
      const Tokens x = random_tokens(sizes.shape, sizes.inputs, 31), dy = random_tokens(sizes.shape, sizes.outputs, 32);
      const Gradients contracted = differentiate(*prepared_layer<double>(functional(options), sizes), x, dy);
      options["order"] = "direct";
      const Gradients direct = differentiate(*prepared_layer<double>(functional(options), sizes), x, dy);
      EXPECT_LT(error(contracted.y.values, direct.y.values), 1e-12);
      EXPECT_LT(error(contracted.dx.values, direct.dx.values), 1e-12);
      double largest = 0;
      for (const auto& [name, gradient] : direct.parameters)
        for (const double entry : gradient) largest = std::max(largest, std::abs(entry));
      for (const auto& [name, gradient] : direct.parameters)
        EXPECT_LT(error(contracted.parameters.at(name), gradient, 1e-3 * largest), 1e-12) << name;
    }
}

/// The cheaper of the two by their own counts, over few and many tokens.
TEST(Functional, AutomaticOrderIsTheCheaper) {
  for (const int tokens : {1, 4, 20, 1000}) {
    const auto operations = [&](const char* order) {
      LayerAlone<double> alone(functional({{"order", order}}), 16, 16);
      const Operations count = alone.layer().operations({2, tokens});
      return count.forward + count.backward;
    };
    EXPECT_EQ(operations("auto"), std::min(operations("contracted"), operations("direct"))) << tokens;
  }
}

/// Every token given twice, one after the other.
Tokens doubled(const Tokens& tokens) {
  Tokens result{{tokens.shape.batch, 2 * tokens.shape.tokens}, tokens.channels, {}};
  for (std::size_t begin = 0; begin < tokens.values.size(); begin += tokens.channels)
    for (int copy = 0; copy < 2; ++copy)
      result.values.insert(result.values.end(), tokens.values.begin() + begin,
                           tokens.values.begin() + begin + tokens.channels);
  return result;
}

double change_when_doubled(const char* inner_product, const char* order) {
  const Sizes sizes{{2, 13}, 7, 7};
  const LayerName layer = functional(
      {{"heads", "2"}, {"basis", "3"}, {"ridge", "1e-2"}, {"inner_product", inner_product}, {"order", order}});
  const auto subject = make_layer<double>(layer, sizes.inputs, sizes.outputs);
  subject->prepare({sizes.shape, {sizes.shape.batch, 2 * sizes.shape.tokens}});
  randomise(subject->parameters(), 5);
  const Tokens x = random_tokens(sizes.shape, sizes.inputs, 33);
  const Tokens once = evaluate(*subject, x);
  return error(evaluate(*subject, doubled(x)).values, doubled(once).values);
}

TEST(Functional, MeanDoesNotDependOnTheSampling) {
  for (const char* order : {"contracted", "direct"}) {
    EXPECT_LT(change_when_doubled("mean", order), 1e-12) << order;
    EXPECT_GT(change_when_doubled("sum", order), 1e-6) << order;
  }
}

// ---- breakdown ----

/// Two samples of which the second's tokens are all the same: its coefficients have rank one.
Tokens tokens_of_rank_one(const Sizes& sizes) {
  Tokens x = random_tokens(sizes.shape, sizes.inputs, 35);
  for (int n = 1; n < sizes.shape.tokens; ++n)
    for (int c = 0; c < sizes.inputs; ++c) x.at(1, n, c) = x.at(1, 0, c);
  return x;
}

template <class Scalar>
std::string complaint_with(const char* ridge, const char* basis, const char* order, const Sizes& sizes) {
  const auto layer =
      prepared_layer<Scalar>(functional({{"heads", "2"}, {"basis", basis}, {"ridge", ridge}, {"order", order}}), sizes);
  evaluate(*layer, tokens_of_rank_one(sizes));
  return layer->complaint();
}

TEST(Functional, BreakdownNamesSampleHeadAndRemedy) {
  const Sizes sizes{{2, 12}, 5, 5};
  for (const char* order : {"contracted", "direct"})
    for (const char* basis : {"3", "8"}) {
      SCOPED_TRACE(std::string(order) + ", basis " + basis);
      // Of a basis wider than the model the first sample's Gram matrix has full rank only as AᵀA.
      const std::string complaint = complaint_with<double>("1e-300", basis, order, sizes);
      EXPECT_NE(complaint.find("sample 1, head 0"), std::string::npos) << complaint;
      EXPECT_NE(complaint.find("smallest pivot"), std::string::npos) << complaint;
      EXPECT_NE(complaint.find("larger `ridge`"), std::string::npos) << complaint;
      EXPECT_EQ(complaint_with<double>("1e-2", basis, order, sizes), "");
      EXPECT_EQ(complaint_with<float>("1e-2", basis, order, sizes), "");
    }
}

TEST(Functional, SignalStaysRaisedUntilItIsCleared) {
  const Sizes sizes{{2, 12}, 5, 5};
  const auto layer = prepared_layer<double>(functional({{"ridge", "1e-300"}, {"basis", "3"}, {"heads", "2"}}), sizes);
  evaluate(*layer, tokens_of_rank_one(sizes));
  evaluate(*layer, random_tokens(sizes.shape, sizes.inputs, 36));
  EXPECT_NE(layer->complaint(), "");
  layer->clear_signals();
  evaluate(*layer, random_tokens(sizes.shape, sizes.inputs, 36));
  EXPECT_EQ(layer->complaint(), "");
}

TEST(Functional, NaNRaisesTheSignalOfItsSample) {
  const Sizes sizes{{3, 12}, 5, 5};
  for (const char* basis : {"3", "8"}) {
    const auto layer = prepared_layer<double>(functional({{"heads", "2"}, {"basis", basis}}), sizes);
    Tokens x = random_tokens(sizes.shape, sizes.inputs, 37);
    x.at(2, 3, 1) = NAN;
    evaluate(*layer, x);
    EXPECT_NE(layer->complaint().find("sample 2, head 0"), std::string::npos) << layer->complaint();
  }
}

/// The contracted order holds no array of tokens × heads·width.
TEST(Functional, ContractedOrderIsSmallInMemory) {
  const auto bytes = [](const char* order) {
    LayerAlone<float> alone(functional({{"order", order}}), 64, 64);
    Arena arena;
    alone.layer().reserve({1, 10000}, arena);
    return arena.bytes();
  };
  EXPECT_LT(bytes("contracted"), 10000U * 64 * 8 * sizeof(float));
  EXPECT_GT(bytes("direct"), 10000U * 64 * 8 * sizeof(float));
}

}  // namespace
}  // namespace ridgeline::support
