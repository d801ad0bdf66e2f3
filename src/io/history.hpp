// history.csv: a row an epoch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline {

struct HistoryRow {
  int epoch = 0;                                  // 1 is the first; 0 is before training
  std::int64_t step = 0;                          // optimiser steps taken by the end of the epoch
  double loss = 0;                                // mean training loss over the epoch's steps
  double learning_rate = 0;                       // of the epoch's last step
  double seconds = 0;                             // training time of this epoch
  double tokens_per_second = 0;                   // of training
  std::vector<std::optional<double>> set_values;  // the metric of each set, empty where it was not evaluated
};

/// The rows of a run, the names of its sets (train first), and which figure of merit is told of them. The file's header
/// is `epoch,step,loss,learning_rate,seconds,tokens_per_second,<SET>_<METRIC>,…`; numbers are written so that reading
/// gives the same bits; a field is empty where a set was not evaluated; nan, inf and -inf are spelled so.
struct History {
  std::vector<std::string> sets;
  std::string metric = "mse";  // as in metrics.hpp, the same for all sets
  std::vector<HistoryRow> rows;

  /// Rewrites the whole file atomically (it is small). Throws Error(Exit::file), also when a row has another number of
  /// sets or a set's name could not be read back (a comma, quote or line break).
  void write(const std::filesystem::path& path) const;

  /// Throws Error(Exit::file) naming file and line when the header or a row cannot be understood.
  static History read(const std::filesystem::path& path);
};

}  // namespace ridgeline
