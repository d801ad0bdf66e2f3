// checkpoint.h5: everything that a run continues from.
//
//   /                        attributes: format (1), step, epoch, seed, precision, threads, resumed, seconds, deck (the
//                            resolved deck's text)
//   /parameters/NAME         in the layout of a PyTorch state_dict: a linear layer's weight is [out, in]
//   /optimizer/first_moment/NAME, /optimizer/second_moment/NAME      Adam's, shaped as the parameter
//   /history                 history.csv so far: a dataset [rows] a column, and set_METRIC [rows, sets] (set_mse) with NaN
//                            where a set was not evaluated; attribute sets: their names
//   /progress                attributes loss, steps, tokens, seconds: sums over the epoch that step belongs to
//
// Random numbers are counted by seed, purpose and index: seed and step are the position of every stream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/parameters.hpp"
#include "io/history.hpp"
#include "train/adam.hpp"

namespace ridgeline {

/// Sums over the steps of one epoch so far.
struct EpochProgress {
  double loss = 0;
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
};

/// A run in the middle, but for its arrays.
struct TrainingState {
  std::int64_t step = 0;   ///< optimiser steps taken
  std::int64_t epoch = 0;  ///< epochs begun
  std::uint64_t seed = 0;
  bool single_precision = true;
  int threads = 0;           ///< that the last of the steps were taken with
  std::int64_t resumed = 0;  ///< times that the run was continued
  double seconds = 0;        ///< that the run took until now, in all its parts
  EpochProgress progress;    ///< of the epoch that `step` belongs to, also where it ends it
  History history;           ///< its last row is of `step`, or of the epoch before
  std::string deck;          ///< the resolved deck
};

template <class Scalar>
struct Checkpoint {
  TrainingState state;
  std::vector<Scalar> values, first_moment, second_moment;  ///< as the flat buffers of Parameters and Adam
};

/// Writes the file whole or not at all; the one before it stays as previous_checkpoint(path) beside it. Throws
/// Error(Exit::file).
template <class Scalar>
void write_checkpoint(const std::filesystem::path& path, const Parameters<Scalar>& parameters,
                      const Adam<Scalar>& optimiser, const TrainingState& state);

/// checkpoint.previous.h5 beside checkpoint.h5.
std::filesystem::path previous_checkpoint(const std::filesystem::path& path);

/// What a file says of itself before its arrays are looked at. `deck` is empty where another program left it out.
struct CheckpointOrigin {
  std::string deck;
  bool is_sealed = true;      ///< bears a checksum
  std::int64_t outputs = -1;  ///< that the model's head gives a token; -1 where the file does not say
};

/// Sets the parameters from a checkpoint of either precision. `look` is called first, and may refuse the file by an
/// exception. Throws Error(Exit::file) where a parameter is missing, has another shape, is not finite, or is one that
/// the model does not have.
template <class Scalar>
void read_parameters(const std::filesystem::path& path, Parameters<Scalar>& parameters,
                     const std::function<void(const CheckpointOrigin&)>& look = {});

/// Everything in a checkpoint of a run, for a model of these parameters, which stay as they are. Throws as
/// read_parameters, and where the parts of the state are of different moments.
template <class Scalar>
Checkpoint<Scalar> read_checkpoint(const std::filesystem::path& path, const Parameters<Scalar>& parameters,
                                   const std::function<void(const CheckpointOrigin&)>& look = {});

/// Parameters and moments from the host to where they are used.
template <class Scalar>
void restore(const Checkpoint<Scalar>& checkpoint, const Parameters<Scalar>& parameters, const Adam<Scalar>& optimiser);

}  // namespace ridgeline
