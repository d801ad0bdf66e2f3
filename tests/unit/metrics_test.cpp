#include "io/metrics.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

TEST(MetricsFile, NamesEverySetTwice) {
  const test::TemporaryFolder folder;
  const std::vector<SetMetrics> sets{
      {"train", {25.5, 26, 1.0 / 3.0, 1.25}, {0.078, 0.08, 1e-10, 0.2}},
      {"id", {24, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 0}, {}},
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

TEST(MetricsFile, MayHaveNoSets) { EXPECT_EQ(metrics_json({}), "{\n  \"untrained\": {},\n  \"trained\": {}\n}\n"); }

TEST(MetricsFile, EscapesNames) {
  test::expect_contains(metrics_json({{"a\"b\\c\td", {}, {}}}), R"("a\"b\\c\u0009d": {)");
  test::expect_contains(metrics_json({{"a\xff\xc3(\xc3\xa9", {}, {}}}), "\"a\xef\xbf\xbd\xef\xbf\xbd(\xc3\xa9\": {");
}

}  // namespace
}  // namespace ridgeline
