// Tensors are views of batch, token, channel, channel fastest. A layer never owns memory: it is handed views.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kokkos.hpp"

namespace ridgeline {

template <class Data>
using View = Kokkos::View<Data, Kokkos::LayoutRight, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// [length]
template <class Scalar>
using Vector = View<Scalar*>;
/// [rows, columns]
template <class Scalar>
using Matrix = View<Scalar**>;
/// [batch, tokens, channels]
template <class Scalar>
using Tensor = View<Scalar***>;

/// How many samples, and tokens in each, a call works on.
struct Shape {
  int batch = 0;
  int tokens = 0;
  int rows() const { return batch * tokens; }
  bool operator==(const Shape& other) const { return batch == other.batch && tokens == other.tokens; }
};

/// The tensor [B, N, C] as a matrix [B·N, C].
template <class Scalar>
Matrix<Scalar> rows_of(const Tensor<Scalar>& tensor) {
  return Matrix<Scalar>(tensor.data(), tensor.extent(0) * tensor.extent(1), tensor.extent(2));
}

/// The same memory, read only: template arguments are not deduced through View's own conversion.
template <class Scalar>
Matrix<const Scalar> read(const Matrix<Scalar>& matrix) {
  return matrix;
}
template <class Scalar>
Tensor<const Scalar> read(const Tensor<Scalar>& tensor) {
  return tensor;
}
template <class Scalar>
Vector<const Scalar> read(const Vector<Scalar>& vector) {
  return vector;
}

template <class Scalar>
Shape shape_of(const Tensor<Scalar>& tensor) {
  return {static_cast<int>(tensor.extent(0)), static_cast<int>(tensor.extent(1))};
}

/// Where entry [index, 0, …] of a view lies: arithmetic only, so that the host may do it for memory of a device.
template <class ViewType>
auto* row_pointer(const ViewType& view, std::size_t index) {
  return view.data() + index * (view.extent(0) > 0 ? view.size() / view.extent(0) : 0);
}

/// The shapes that `samples` of as many tokens come in when they are taken `batch` at a time.
inline std::vector<Shape> batches_of(int samples, int batch, int tokens) {
  std::vector<Shape> shapes{{batch, tokens}};
  if (const int rest = samples % batch; rest > 0) shapes.push_back({rest, tokens});
  return shapes;
}

template <class ViewType>
int extent(const ViewType& view, int dimension) {
  return static_cast<int>(view.extent(dimension));
}

/// Whether host code may follow a pointer into the view's memory.
template <class ViewType>
inline constexpr bool host_reads =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ViewType::memory_space>::accessible;

/// A pointer for host code, the only way in which it reads or writes what a view holds. Compiles only where the host may
/// access the view's memory: elsewhere copy to a mirror first.
template <class ViewType>
auto host_pointer(const ViewType& view) {
  static_assert(host_reads<ViewType>, "the host cannot read this view's memory");
  return view.data();
}

/// What a view holds, in the order of its memory, copied to the host. The view has no gaps.
template <class ViewType>
auto host_copy(const ViewType& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return std::vector<typename ViewType::non_const_value_type>(host_pointer(host), host_pointer(host) + host.size());
}

}  // namespace ridgeline
