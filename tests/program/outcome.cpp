#include "outcome.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/hdf5.hpp"
#include "io/history.hpp"
#include "unit/files_support.hpp"

namespace ridgeline::program {
namespace {

/// As much of JSON as metrics.json is: objects of objects, and numbers or null in the innermost.
class Json {
 public:
  explicit Json(std::string text) : text_(std::move(text)) {}

  template <class Value>
  std::map<std::string, Value> object() {
    std::map<std::string, Value> result;
    expect('{');
    while (peek() == '"') {
      const std::string name = string();
      expect(':');
      EXPECT_EQ(result.count(name), 0U) << name << " stands twice";
      read(result[name]);
      if (peek() != ',') break;
      expect(',');
      EXPECT_EQ(peek(), '"');
    }
    expect('}');
    return result;
  }
  bool at_end() { return peek() == '\0'; }

 private:
  void read(std::optional<double>& value) {
    peek();
    if (text_.compare(at_, 4, "null") == 0) {
      at_ += 4;
      return;
    }
    char* end = nullptr;
    value = std::strtod(text_.c_str() + at_, &end);
    EXPECT_NE(end, text_.c_str() + at_) << "no number at " << at_;
    at_ = static_cast<std::size_t>(end - text_.c_str());
  }
  template <class Value>
  void read(std::map<std::string, Value>& value) {
    value = object<Value>();
  }
  std::string string() {
    expect('"');
    const std::size_t end = text_.find('"', at_);
    std::string result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char letter) {
    ASSERT_EQ(peek(), letter) << "at " << at_ << " of " << text_;
    ++at_;
  }

  std::string text_;
  std::size_t at_ = 0;
};

Array array(const hdf5::File& file, const std::string& name) { return {file.shape(name), file.read<double>(name)}; }

}  // namespace

AllFigures read_metrics(const std::filesystem::path& path) {
  Json json(test::content_of(path));
  AllFigures figures = json.object<std::map<std::string, Figures>>();
  EXPECT_TRUE(json.at_end());
  return figures;
}

Arrays read_arrays(const std::filesystem::path& path, const std::string& group) {
  const hdf5::File file = hdf5::File::open(path);
  Arrays arrays;
  for (const std::string& name : file.datasets_below(group))
    arrays[name] = array(file, fmt::format("{}/{}", group, name));
  return arrays;
}

SetArrays read_set(const std::filesystem::path& path, const std::string& set) {
  const hdf5::File file = hdf5::File::open(path);
  return {array(file, set + "/inputs"), array(file, set + "/targets"), array(file, set + "/predictions"),
          array(file, set + "/untrained_predictions"), array(file, set + "/shown")};
}

Figures figures_of(const SetArrays& set, const Array& predictions) {
  const std::int64_t samples = set.targets.shape.at(0), points = set.targets.shape.at(1);
  double hidden = 0, shown = 0, relative = 0;
  std::int64_t hidden_points = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    double error = 0, truth = 0;
    for (std::int64_t j = 0; j < points; ++j) {
      const auto k = static_cast<std::size_t>(i * points + j);
      const double square = std::pow(predictions.values[k] - set.targets.values[k], 2);
      error += square;
      truth += std::pow(set.targets.values[k], 2);
      (set.shown.values[k] != 0 ? shown : hidden) += square;
      if (set.shown.values[k] == 0) ++hidden_points;
    }
    relative += std::sqrt(error / truth);
  }
  const auto all = static_cast<double>(samples * points), count = static_cast<double>(hidden_points);
  Figures figures = {{"mse", (hidden + shown) / all}, {"relative_l2", relative / static_cast<double>(samples)}};
  figures["mse_hidden"] = count > 0 ? std::optional<double>(hidden / count) : std::nullopt;
  figures["mse_shown"] = count < all ? std::optional<double>(shown / (all - count)) : std::nullopt;
  return figures;
}

namespace {

/// A checkpoint's arrays but for the history, which is compared as the file that it became.
Arrays training_arrays(const std::filesystem::path& path) {
  Arrays arrays = read_arrays(path, "parameters");
  arrays.merge(read_arrays(path, "optimizer"));
  return arrays;
}

void expect_same_history(const History& one, const History& other) {
  EXPECT_EQ(one.sets, other.sets);
  ASSERT_EQ(one.rows.size(), other.rows.size());
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    EXPECT_EQ(one.rows[i].epoch, other.rows[i].epoch);
    EXPECT_EQ(one.rows[i].step, other.rows[i].step);
    EXPECT_EQ(one.rows[i].loss, other.rows[i].loss) << "epoch " << one.rows[i].epoch;
    EXPECT_EQ(one.rows[i].learning_rate, other.rows[i].learning_rate);
    EXPECT_EQ(one.rows[i].set_values, other.rows[i].set_values) << "epoch " << one.rows[i].epoch;
  }
}

}  // namespace

void expect_same_outcome(const std::filesystem::path& one, const std::filesystem::path& other) {
  EXPECT_EQ(test::content_of(one / "metrics.json"), test::content_of(other / "metrics.json"));
  EXPECT_EQ(training_arrays(one / "checkpoint.h5"), training_arrays(other / "checkpoint.h5"));
  const History history = History::read(one / "history.csv");
  expect_same_history(history, History::read(other / "history.csv"));
  for (const std::string& name : history.sets)
    EXPECT_EQ(read_arrays(one / "results.h5", name), read_arrays(other / "results.h5", name)) << name;
}

}  // namespace ridgeline::program
