// The proof that a model of an autoregressive task is one, made on the model itself.
#pragma once

#include "driver/experiment.hpp"

namespace ridgeline {

/// Whether no prediction depends on its own target or a later one: targets are changed one by one, at every token or, of
/// long samples, at some spread over it, and predictions up to there must stay as they are, to the bit; and their
/// gradient with respect to the inputs of later tokens must be nought. Nothing where the task is not autoregressive.
///
/// The model is prepared for `samples` samples of the training set, its parameters are set; they stay as they are, their
/// gradients are zero afterwards. Throws Error(Exit::mistake), which says which part of the model lets a later token through.
template <class Scalar>
void prove_autoregressive(const Experiment& experiment, Model<Scalar>& model, int samples);

/// The same on a model made for it, with the parameters that a run begins with, and only as many samples as it takes.
template <class Scalar>
void prove_autoregressive(const Experiment& experiment);

/// Bytes that this takes, on the device and on the host; 0 where the task is not autoregressive.
template <class Scalar>
double bytes_of_proof(const Experiment& experiment);

}  // namespace ridgeline
