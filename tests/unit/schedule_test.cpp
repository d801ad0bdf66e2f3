#include "train/schedule.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

double cosine(std::int64_t step, std::int64_t steps) { return learning_rate(Schedule::cosine, 2, step, steps); }
double cycle(std::int64_t step, std::int64_t steps) { return learning_rate(Schedule::one_cycle, 2, step, steps); }

TEST(Schedule, Names) {
  EXPECT_EQ(schedule_named("constant"), Schedule::constant);
  EXPECT_EQ(schedule_named("cosine"), Schedule::cosine);
  EXPECT_EQ(schedule_named("one_cycle"), Schedule::one_cycle);
  EXPECT_THROW(schedule_named("linear"), std::logic_error);
}

TEST(Schedule, ConstantIsTheRateItself) {
  for (const std::int64_t step : {0, 1, 99}) EXPECT_EQ(learning_rate(Schedule::constant, 0.3, step, 100), 0.3);
}

TEST(Schedule, CosineFallsFromTheRateToNothing) {
  EXPECT_EQ(cosine(0, 1000), 2);
  EXPECT_NEAR(cosine(500, 1000), 1, 1e-12);
  EXPECT_NEAR(cosine(250, 1000), 1 + std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(cosine(1000, 1000), 0, 1e-12);
  for (std::int64_t step = 1; step < 1000; ++step) EXPECT_LT(cosine(step, 1000), cosine(step - 1, 1000));
  EXPECT_GT(cosine(999, 1000), 0);
}

TEST(Schedule, OneCycleRisesForThreeTenthsAndFalls) {
  constexpr std::int64_t steps = 1000, top = 299;  // PyTorch's: pct_start·steps - 1
  EXPECT_NEAR(cycle(0, steps), 2.0 / 25, 1e-15);
  EXPECT_NEAR(cycle(top, steps), 2, 1e-15);
  EXPECT_NEAR(cycle(steps - 1, steps), 2 / 25e4, 1e-15);
  for (std::int64_t step = 1; step < steps; ++step) {
    if (step <= top)
      EXPECT_GT(cycle(step, steps), cycle(step - 1, steps)) << step;
    else
      EXPECT_LT(cycle(step, steps), cycle(step - 1, steps)) << step;
  }
}

TEST(Schedule, OneCycleHalfWay) {
  // Half a cosine is at its mean half way up and half way down.
  EXPECT_NEAR(cycle(100, 670), (2 + 2.0 / 25) / 2, 1e-12);  // the top is at 200
  EXPECT_NEAR(learning_rate(Schedule::one_cycle, 2, 200 + 234, 669 + 1), 2 - (2 - 2 / 25e4) * 0.5, 5e-2);
}

TEST(Schedule, OneCycleAsPyTorchHasIt) {
  // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=10): up from 0.04 to step 2, down to 4e-6 at step 9.
  const double expected[] = {0.04, 0.52, 1.0};
  for (std::int64_t step = 0; step < 3; ++step)
    EXPECT_NEAR(learning_rate(Schedule::one_cycle, 1, step, 10), expected[step], 1e-12);
  for (std::int64_t step = 3; step < 10; ++step) {
    const double progress = static_cast<double>(step - 2) / 7, last = 0.04 / 1e4;
    EXPECT_NEAR(learning_rate(Schedule::one_cycle, 1, step, 10),
                last + (1 - last) / 2 * (1 + std::cos(3.14159265358979323846 * progress)), 1e-12);
  }
}

TEST(Schedule, ShortRunsStayFinite) {
  for (const Schedule schedule : {Schedule::constant, Schedule::cosine, Schedule::one_cycle})
    for (std::int64_t steps = 1; steps < 12; ++steps)
      for (std::int64_t step = 0; step < steps; ++step) {
        const double rate = learning_rate(schedule, 2, step, steps);
        EXPECT_TRUE(std::isfinite(rate)) << step << " of " << steps;
        EXPECT_GT(rate, 0) << step << " of " << steps;
        EXPECT_LE(rate, 2) << step << " of " << steps;
      }
}

}  // namespace
}  // namespace ridgeline
