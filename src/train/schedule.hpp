// The learning rate over the course of a run.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline {

///   constant   the given rate throughout
///   cosine     from the rate down to nothing, half a cosine over the run
///   one_cycle  from rate/25 up to the rate over the first 30 % of the run, then down to rate/250,000, both half a
///              cosine (Smith, Topin 2018; the figures are PyTorch's OneCycleLR's; the moments' decay is left alone)
enum class Schedule { constant, cosine, one_cycle };

/// Throws std::logic_error for another name.
Schedule schedule_named(const std::string& name);

/// The rate of a step, counted from 0, of a run of `steps`.
double learning_rate(Schedule schedule, double rate, std::int64_t step, std::int64_t steps);

}  // namespace ridgeline
