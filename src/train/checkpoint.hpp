// checkpoint.h5: everything that a run continues from.
//
//   /                        attributes: format (1), step, epoch, seed, precision, deck (the resolved deck's text)
//   /parameters/NAME         in the layout of a PyTorch state_dict: a linear layer's weight is [out, in]
//   /optimizer/first_moment/NAME, /optimizer/second_moment/NAME      Adam's, shaped as the parameter
//
// Random numbers are counted by seed, purpose and index: seed and step are the position of every stream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/parameters.hpp"
#include "train/adam.hpp"

namespace ridgeline {

struct TrainingState {
  std::int64_t step = 0;   ///< optimiser steps taken
  std::int64_t epoch = 0;  ///< epochs finished
  std::uint64_t seed = 0;
  std::string deck;  ///< the resolved deck
};

/// Writes the file whole or not at all; the one before it stays as checkpoint.previous.h5 beside it. Throws
/// Error(Exit::file).
template <class Scalar>
void write_checkpoint(const std::filesystem::path& path, const Parameters<Scalar>& parameters,
                      const Adam<Scalar>& optimiser, const TrainingState& state);

/// Sets the parameters from a checkpoint of either precision. Throws Error(Exit::file) where a parameter is missing,
/// has another shape, is not finite, or is one that the model does not have.
template <class Scalar>
void read_parameters(const std::filesystem::path& path, Parameters<Scalar>& parameters);

}  // namespace ridgeline
