// Memory for activations and scratch, laid out before the first step: the training loop allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "core/large_memory.hpp"
#include "core/tensor.hpp"

namespace ridgeline {

/// Hands out views from two blocks of memory. What is `kept` lives from forward to backward and overlaps nothing.
/// What is `passing` lives for one call of forward or backward: layers that do not call one another share it.
///
/// The layout is found by asking every layer what it needs, once without memory (to measure) and, after `allocate`,
/// again for each shape that is run.
class Arena {
 public:
  /// Passing memory asked for while a Frame lives is free again after it.
  class Frame {
   public:
    explicit Frame(Arena& arena) : arena_(arena), top_(arena.passing_.used) {}
    ~Frame() {
      if (arena_.passing_.guard == 0) arena_.passing_.used = top_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Arena& arena_;
    std::size_t top_;
  };

  /// With a `guard` of so many bytes (a multiple of 256), for whoever examines what a layer does with its memory: as
  /// many lie free before and after every view, no two views share memory, and the blocks list where the views lie.
  explicit Arena(std::size_t guard = 0) { kept_.guard = passing_.guard = guard; }

  template <class Scalar>
  Vector<Scalar> kept(std::size_t length) {
    return Vector<Scalar>(kept_.take<Scalar>(length), length);
  }
  template <class Scalar>
  Matrix<Scalar> kept(std::size_t rows, std::size_t columns) {
    return Matrix<Scalar>(kept_.take<Scalar>(product(rows, columns)), rows, columns);
  }
  template <class Scalar>
  Tensor<Scalar> kept(std::size_t batch, std::size_t tokens, std::size_t channels) {
    return Tensor<Scalar>(kept_.take<Scalar>(product(product(batch, tokens), channels)), batch, tokens, channels);
  }
  template <class Scalar>
  Vector<Scalar> passing(std::size_t length) {
    return Vector<Scalar>(passing_.take<Scalar>(length), length);
  }
  template <class Scalar>
  Matrix<Scalar> passing(std::size_t rows, std::size_t columns) {
    return Matrix<Scalar>(passing_.take<Scalar>(product(rows, columns)), rows, columns);
  }
  template <class Scalar>
  Tensor<Scalar> passing(std::size_t batch, std::size_t tokens, std::size_t channels) {
    return Tensor<Scalar>(passing_.take<Scalar>(product(product(batch, tokens), channels)), batch, tokens, channels);
  }

  /// Lets a part (anything with `reserve`) take its memory; what it takes in passing is shared with what comes next.
  template <class Part>
  void reserve_apart(Part& part, const Shape& shape) {
    const Frame frame(*this);
    part.reserve(shape, *this);
  }

  /// Begins a new layout over the same memory.
  void restart() {
    kept_.restart();
    passing_.restart();
  }

  /// Whether all that was handed out since `restart` lies in memory: false while measuring, and for a layout larger
  /// than those measured before `allocate`.
  bool fits() const { return kept_.fits() && passing_.fits(); }

  /// Bytes that the largest layout so far needs.
  std::size_t bytes() const { return kept_.peak + passing_.peak; }

  /// Allocates what the layouts measured so far need; views handed out before are void.
  void allocate() {
    kept_.allocate("ridgeline::arena/kept");
    passing_.allocate("ridgeline::arena/passing");
  }

  /// Where a view lies in its block, in bytes.
  struct Piece {
    std::size_t begin, size;
  };
  struct Block {
    static constexpr std::size_t alignment = 256;

    template <class Scalar>
    Scalar* take(std::size_t count) {
      const std::size_t begin = used + guard, size = product(count, sizeof(Scalar));
      used = std::min(most, begin + (size + alignment - 1) / alignment * alignment + guard);
      if (guard > 0) pieces.push_back({begin, size});
      layout = std::max(layout, used);
      peak = std::max(peak, layout);
      return used <= storage.size() ? reinterpret_cast<Scalar*>(storage.data() + begin) : nullptr;
    }

    void allocate(const char* name) {
      storage = {};
      storage = large_memory<char>(name, peak);
    }

    void restart() {
      used = layout = 0;
      pieces.clear();
    }
    bool fits() const { return layout <= storage.size(); }

    Kokkos::View<char*, Memory> storage;
    std::size_t used = 0;
    std::size_t layout = 0;  // the most in use since `restart`
    std::size_t peak = 0;    // of all layouts
    std::size_t guard = 0;
    std::vector<Piece> pieces;  // since `restart`, where there is a guard
  };
  const Block& kept_block() const { return kept_; }
  const Block& passing_block() const { return passing_; }

 private:
  /// More than any machine has. Sizes stop here, so that a model far too large does not wrap round to a small one.
  static constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 4;

  static std::size_t product(std::size_t a, std::size_t b) { return a > 0 && b > most / a ? most : a * b; }

  Block kept_;
  Block passing_;
};

}  // namespace ridgeline
