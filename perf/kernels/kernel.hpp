// A kernel to be timed by itself: its name, how much it does, and how a call of it is prepared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/arena.hpp"

namespace ridgeline::perf {

/// What the kernels work on: the shapes of a training step. The defaults are those of inputs/sine.ini.
struct Sizes {
  int batch = 8;
  int tokens = 120;
  int width = 128;
  int hidden = 512;
  int heads = 8;
  int basis = 8;
  int rows() const { return batch * tokens; }
  int all_basis() const { return heads * basis; }
};

/// What bounds a kernel from above: the machine's rate in float or in double, memory alone, or other arithmetic that
/// nobody has counted.
enum class Arithmetic { single_precision, double_precision, none, unknown };

struct Kernel {
  std::string name;  ///< as tools see it, and after a space what tells it from others of that name
  Arithmetic arithmetic = Arithmetic::single_precision;
  /// Of a call: operations that the formulas ask for (a multiply-add is two, as are division and square root one, and an
  /// exponential the 22 of its polynomial), bytes of its arguments, each read once and written once, and how many
  /// different bytes these are where some are both read and written (0: all are).
  double operations = 0;
  double bytes = 0;
  double footprint = 0;
  bool in_step = true;  ///< a training step of inputs/sine.ini has it
  /// Takes memory, and returns the call.
  std::function<std::function<void()>()> prepare;
};

constexpr double exponential_operations = 22;

using Array = Kokkos::View<float*, Memory>;

/// Numbers between -1/2 and 1/2 that look random.
Array filled(std::size_t count);

inline Matrix<float> matrix(const Array& array, int rows, int columns) {
  return Matrix<float>(array.data(), rows, columns);
}
inline Vector<float> vector(const Array& array) { return Vector<float>(array.data(), array.extent(0)); }

/// Lets a part (anything with `reserve`) have its memory from an arena of its own.
template <class Reserve>
void reserve(Arena& arena, const Reserve& part) {
  part(arena);
  arena.allocate();
  arena.restart();
  part(arena);
}

// One file each.
void add_products(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_basis_functions(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_ridge(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_layer_norm(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_activations(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_rows(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_attention_cores(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_training(const Sizes& sizes, std::vector<Kernel>& kernels);
void add_data(const Sizes& sizes, std::vector<Kernel>& kernels);
/// Not part of a step: how fast memory is, for working sets of many sizes.
void add_memory(std::vector<Kernel>& kernels);

}  // namespace ridgeline::perf
