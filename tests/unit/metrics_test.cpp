#include "io/metrics.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Metrics errors(double mse, double hidden, double shown, double relative) {
  return {{"mse", mse}, {"mse_hidden", hidden}, {"mse_shown", shown}, {"relative_l2", relative}};
}

TEST(MetricsFile, NamesEverySetTwice) {
  const test::TemporaryFolder folder;
  const std::vector<SetMetrics> sets{
      {"train", errors(25.5, 26, 1.0 / 3.0, 1.25), errors(0.078, 0.08, 1e-10, 0.2)},
      {"id", errors(24, nan, std::numeric_limits<double>::infinity(), 0), errors(nan, nan, nan, nan)},
  };
  write_metrics(folder / "metrics.json", sets);
  EXPECT_EQ(test::content_of(folder / "metrics.json"),
            R"({
  "untrained": {
    "train": {"mse": 25.5, "mse_hidden": 26, "mse_shown": 0.3333333333333333, "relative_l2": 1.25},
    "id": {"mse": 24, "mse_hidden": null, "mse_shown": null, "relative_l2": 0}
  },
  "trained": {
    "train": {"mse": 0.078, "mse_hidden": 0.08, "mse_shown": 1e-10, "relative_l2": 0.2},
    "id": {"mse": null, "mse_hidden": null, "mse_shown": null, "relative_l2": null}
  }
}
)");
}

TEST(MetricsFile, HoldsWhateverFiguresATaskHas) {
  EXPECT_EQ(metrics_json({{"id", {}, {{"bits_per_dimension", 1.5}, {"accuracy", 0.5}}}}), R"({
  "untrained": {
    "id": {}
  },
  "trained": {
    "id": {"bits_per_dimension": 1.5, "accuracy": 0.5}
  }
}
)");
}

TEST(Metrics, AreFoundByName) {
  const Metrics metrics = {{"mse", 2}, {"accuracy", 3}};
  EXPECT_EQ(metrics["accuracy"], 3);
  EXPECT_TRUE(std::isnan(metrics["relative_l2"]));
  const std::vector<MetricKind> kinds = kinds_of({{"a", {}, {{"accuracy", 1}}}, {"b", {{"mse", 1}}, {}}});
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_STREQ(kinds[0].name, "mse");
  EXPECT_STREQ(kinds[1].name, "accuracy");
}

TEST(MetricsFile, MayHaveNoSets) { EXPECT_EQ(metrics_json({}), "{\n  \"untrained\": {},\n  \"trained\": {}\n}\n"); }

TEST(MetricsFile, EscapesNames) {
  test::expect_contains(metrics_json({{"a\"b\\c\td", {}, {}}}), R"("a\"b\\c\u0009d": {)");
  test::expect_contains(metrics_json({{"a\xff\xc3(\xc3\xa9", {}, {}}}), "\"a\xef\xbf\xbd\xef\xbf\xbd(\xc3\xa9\": {");
}

}  // namespace
}  // namespace ridgeline
