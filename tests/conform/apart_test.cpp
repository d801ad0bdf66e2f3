// A layer that never comes back is a finding, and what takes long is not tried to its end.
#include "conform/apart.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "caught.hpp"
#include "loaded/identity_layer.hpp"

namespace ridgeline::conform {
namespace {

template <class Scalar>
class Hanging final : public loaded::IdentityLayer<Scalar> {
 public:
  explicit Hanging(Setup<Scalar>& setup) : loaded::IdentityLayer<Scalar>(setup) {
    for (;;) sleep(60);
  }
};

LayerName hanging() {
  LayerEntry entry;
  entry.kind = "flawed";
  entry.name = "hangs";
  entry.make_float = [](Setup<float>& setup) { return std::make_unique<Hanging<float>>(setup); };
  entry.make_double = [](Setup<double>& setup) { return std::make_unique<Hanging<double>>(setup); };
  return added_once(entry);
}

TEST(ExaminedApart, ALayerThatHangsFails) {
  const auto with_the_tests_kokkos = [](const std::function<void()>& work) { work(); };
  std::vector<std::string> progress;
  const Conformance conformance = examine_apart(
      hanging(), with_the_tests_kokkos, [&](const std::string& text) { progress.push_back(text); }, 0.5);
  ASSERT_EQ(conformance.outcomes.size(), checks().size());
  const Outcome& first = conformance.outcomes.front();
  EXPECT_EQ(first.finding.result, Finding::Result::failed);
  EXPECT_EQ(first.finding.text, "it did not come back within 0.5 s");
  ASSERT_TRUE(first.tried.has_value());
  EXPECT_EQ(first.tried->sizes.shape.tokens, 7);
  EXPECT_EQ(conformance.count(Finding::Result::not_applicable), static_cast<int>(checks().size()) - 1);
  EXPECT_EQ(conformance.outcomes.back().finding.text, "not tried, as gradients did not come back");
  EXPECT_EQ(progress, (std::vector<std::string>{"making the layer, 2 samples of 7 tokens, 5 to 3 channels",
                                                "gradients, case 1 of 1"}));
}

TEST(Examined, WhatIsNotTriedForLackOfTimeIsSaid) {
  Journal journal{{"activation", "relu"}};
  journal.seconds_for_a_check = 0;
  Follower nobody;
  go_on(journal, nobody);
  const Outcome& first = journal.outcomes.front();
  EXPECT_EQ(first.cases, 1);
  EXPECT_EQ(first.left_out, static_cast<int>(every_size.size()) - 1);
  const Conformance conformance{journal.layer, journal.outcomes, {}, 0};
  EXPECT_TRUE(conformance.conforms());
  EXPECT_NE(report(conformance, {}).find("not tried: gradients in 6 more cases"), std::string::npos);
  EXPECT_NE(report_json(conformance, {}).find("\"cases\": 1, \"left_out\": 6"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::conform
