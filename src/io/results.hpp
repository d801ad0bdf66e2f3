// results.h5: what went into a trained model and what came out, by set; where the time went; what was run.
//
//   /                      attributes: `format`, and the facts of the run
//   /set_names             names of the sets in order, train first
//   /SET                   attributes: the set's metrics (mse, …), and the same with untrained_ in front; rows and
//                          columns where the tokens are an image's pixels, row by row
//   /SET/inputs            [samples, tokens, channels]   attribute `channels`: their names
//   /SET/targets           [samples, tokens, targets]    attribute `channels`: their names
//   /SET/predictions       [samples, tokens, outputs]    of the trained model: targets, or logits of their levels
//   /SET/untrained_predictions  the same, of the model as initialised
//   /SET/shown             [samples, tokens] uint8       1 where the target was part of the input
//   /generated/images      what a trained model of images made, as an image file has it; labels beside, if it was told
//                          them
//   /score_biases/BLOCK    [heads, 2 tokens - 1]         what attention adds to its scores, by distance from query to
//                          key; attributes: position, its name; causal, 1 where keys behind the query are not looked at
//   /time                  names, seconds, calls: one entry a region
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/region.hpp"
#include "io/hdf5.hpp"
#include "io/metrics.hpp"
#include "layer/layer.hpp"

namespace ridgeline {

/// One set, arrays row-major with the shapes above. Scalar is the run's precision, float or double.
template <class Scalar>
struct ResultSet {
  std::string name;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t channels = 0;
  std::int64_t targets = 0;
  std::int64_t outputs = 0;                // of the model: a logit for each of a target's levels; 0: as many as targets
  Grid grid;                               // where the tokens are an image's pixels
  std::vector<std::string> channel_names;  // empty, or one a channel; channel 0 is the pictures' abscissa
  std::vector<std::string> target_names;   // empty, or one a target
  std::vector<Scalar> inputs;
  std::vector<Scalar> truth;  // dataset `targets`
  std::vector<Scalar> predictions;
  std::vector<Scalar> untrained_predictions;  // may be empty: not stored
  std::vector<std::uint8_t> shown;            // may be empty: nothing is shown
  Metrics trained;
  Metrics untrained;
};

/// What was run, for the report's head: "title", "task", "model", "parameters", "precision", "backend", "threads",
/// "host", "date", "duration", "version" are shown first and in this order, whatever else after them.
using Facts = std::map<std::string, std::string>;

template <class Scalar>
struct Results {
  std::vector<ResultSet<Scalar>> sets;
  std::vector<RegionTime> time;
  Facts facts;
};

/// Groups of what a run leaves besides its sets.
inline constexpr const char* generated_group = "generated";
inline constexpr const char* bias_group = "score_biases";

/// Why a set cannot have this name, as the rest of a sentence, or empty when it can. It names a group here, a column of
/// history.csv and a picture: "time", "set_names", "generated", "score_biases", "", "." and ".." are taken, slashes,
/// commas, quotes and control characters are refused. Decks are checked with it too.
std::string why_not_a_set_name(const std::string& name);

/// Writes the file atomically. Throws Error(Exit::file), also when an array's length does not fit its shape.
template <class Scalar>
void write_results(const std::filesystem::path& path, const Results<Scalar>& results);

/// The parts of write_results, for a writer that holds one set at a time: inside hdf5::write_atomically, any number of
/// sets in order, then time and facts, each at most once.
template <class Scalar>
void write_result_set(hdf5::File& file, const ResultSet<Scalar>& set);
void write_time(hdf5::File& file, const std::vector<RegionTime>& time);
void write_facts(hdf5::File& file, const Facts& facts, const std::vector<std::string>& set_names);

/// Names of the sets in order. All readers throw Error(Exit::file) when something is missing or of the wrong shape.
std::vector<std::string> read_set_names(const hdf5::File& file);

/// Which samples stand for a set of `samples`: at most `most`, evenly spaced, the first among them.
std::vector<std::int64_t> spread_samples(std::int64_t samples, std::int64_t most);

/// A set whole. Scalar need not be the stored precision.
template <class Scalar>
ResultSet<Scalar> read_result_set(const hdf5::File& file, const std::string& name);

/// Only some samples of a set, in the order given; `samples` then is their number.
template <class Scalar>
ResultSet<Scalar> read_result_set(const hdf5::File& file, const std::string& name,
                                  const std::vector<std::int64_t>& which);
std::vector<RegionTime> read_time(const hdf5::File& file);
Facts read_facts(const hdf5::File& file);
template <class Scalar>
Results<Scalar> read_results(const std::filesystem::path& path);

}  // namespace ridgeline
