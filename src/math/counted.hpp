// What the matrix products move, beside what they compute (counted_operations of math/gemm.hpp): for who counts launches.
#pragma once

namespace ridgeline {

/// Bytes of the factors and targets of all products since the program began, each read once and written once.
double& counted_bytes();

}  // namespace ridgeline
