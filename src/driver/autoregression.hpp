// The proof that a model of an autoregressive task is one, made on the model itself.
#pragma once

#include "driver/experiment.hpp"

namespace ridgeline {

/// Samples that the proof takes at a time, at most `most`.
int samples_of_proof(const Experiment& experiment, int most);

/// Whether no prediction depends on its own target or a later one: targets are changed one by one, at every token or, of
/// long samples, at some spread over it, and predictions up to there must stay as they are, to the bit; and their
/// gradient with respect to the inputs of later tokens must be nought. Nothing where the task is not autoregressive.
///
/// The model is prepared for `samples` samples of the training set, its parameters are set; they stay as they are, their
/// gradients are zero afterwards. Throws Error(Exit::mistake), which says which part of the model lets a later token through.
template <class Scalar>
void prove_autoregressive(const Experiment& experiment, Model<Scalar>& model, int samples);

}  // namespace ridgeline
