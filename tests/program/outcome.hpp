// What a run leaves in its folder, read back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::program {

/// metrics.json: "trained" or "untrained", set, figure; empty where the file says null. A file of another form fails
/// the test.
using Figures = std::map<std::string, std::optional<double>>;
using AllFigures = std::map<std::string, std::map<std::string, Figures>>;
AllFigures read_metrics(const std::filesystem::path& path);

/// Every data set of an HDF5 file by its path, as doubles, and its shape.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  bool operator==(const Array& other) const { return shape == other.shape && values == other.values; }
};
using Arrays = std::map<std::string, Array>;
Arrays read_arrays(const std::filesystem::path& path, const std::string& group);

/// One set of results.h5.
struct SetArrays {
  Array inputs, targets, predictions, untrained_predictions, shown;
};
SetArrays read_set(const std::filesystem::path& path, const std::string& set);

/// The figures of predictions, computed here as the manual defines them.
Figures figures_of(const SetArrays& set, const Array& predictions);

/// Two runs came to the same bits: parameters, moments, history (times apart), metrics, and the sets of results.h5.
void expect_same_outcome(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace ridgeline::program
