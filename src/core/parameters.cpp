#include "core/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/large_memory.hpp"
#include "core/random.hpp"

namespace ridgeline {
namespace {

constexpr std::size_t padding = 64;  // elements: every parameter begins on a cache line of any machine

double draw(const Initial& initial, const RandomStream& stream, std::size_t index) {
  switch (initial.kind) {
    case Initial::Kind::uniform:
      return stream.uniform(index, initial.first, initial.second);
    case Initial::Kind::normal:
      return initial.first + initial.second * stream.normal(index);
    default:
      return initial.first;
  }
}

template <class Scalar>
std::vector<double> copy_out(const Kokkos::View<Scalar*, Memory>& buffer, std::size_t offset, std::size_t size) {
  const std::vector<Scalar> part = host_copy(Kokkos::subview(buffer, std::make_pair(offset, offset + size)));
  return {part.begin(), part.end()};
}

}  // namespace

template <class Scalar>
void Parameters<Scalar>::declare(Parameter<Scalar>& parameter, const std::string& name, const std::vector<int>& shape,
                                 Initial initial) {
  if (find(name)) throw std::logic_error("parameter " + name + " is declared twice");
  for (const int extent : shape)
    if (extent < 0) throw std::logic_error("parameter " + name + " has an extent of " + std::to_string(extent));
  if (!std::isfinite(initial.first) || !std::isfinite(initial.second))
    throw std::logic_error("parameter " + name + " has initial values that are not finite");
  parameter.shape = shape;
  const std::size_t size =
      std::accumulate(shape.begin(), shape.end(), std::size_t{1}, [](std::size_t a, int b) { return a * b; });
  index_.emplace(name, entries_.size());
  entries_.push_back({name, shape, initial, length_, size, &parameter});
  length_ += (size + padding - 1) / padding * padding;
}

template <class Scalar>
void Parameters<Scalar>::allocate() {
  values_ = large_zero_memory<Scalar>("ridgeline::parameters", length_);
  gradients_ = large_zero_memory<Scalar>("ridgeline::gradients", length_);
  for (const Entry& entry : entries_) {
    entry.parameter->value = Vector<Scalar>(values_.data() + entry.offset, entry.size);
    entry.parameter->gradient = Vector<Scalar>(gradients_.data() + entry.offset, entry.size);
  }
}

template <class Scalar>
void Parameters<Scalar>::initialise(std::uint64_t seed) {
  const auto host = Kokkos::create_mirror_view(values_);
  Scalar* data = host_pointer(host);
  for (const Entry& entry : entries_) {
    const RandomStream stream(seed, "parameters/" + entry.name);
    for (std::size_t i = 0; i < entry.size; ++i)
      data[entry.offset + i] = static_cast<Scalar>(draw(entry.initial, stream, i));
  }
  Kokkos::deep_copy(values_, host);
}

template <class Scalar>
std::vector<double> Parameters<Scalar>::get(const Entry& entry) const {
  return copy_out(values_, entry.offset, entry.size);
}

template <class Scalar>
std::vector<double> Parameters<Scalar>::get_gradient(const Entry& entry) const {
  return copy_out(gradients_, entry.offset, entry.size);
}

template <class Scalar>
void Parameters<Scalar>::set(const Entry& entry, const std::vector<double>& values) {
  if (values.size() != entry.size)
    throw std::logic_error("parameter " + entry.name + " has another number of entries than was given");
  const auto part = Kokkos::subview(values_, std::make_pair(entry.offset, entry.offset + entry.size));
  const auto host = Kokkos::create_mirror_view(part);
  std::transform(values.begin(), values.end(), host_pointer(host), [](double v) { return static_cast<Scalar>(v); });
  Kokkos::deep_copy(part, host);
}

template <class Scalar>
void Parameters<Scalar>::gradients_used() {
  for (const Entry& entry : entries_) {
    if (entry.parameter->holds_former_)
      throw std::logic_error("the gradient of " + entry.name +
                             " was added to an earlier step's: its layer no longer asks for gradient_factor");
    entry.parameter->holds_former_ = entry.parameter->is_asked_for_;
    entry.parameter->is_asked_for_ = false;
  }
}

template <class Scalar>
const typename Parameters<Scalar>::Entry* Parameters<Scalar>::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

template <class Scalar>
std::size_t Parameters<Scalar>::count() const {
  return std::accumulate(entries_.begin(), entries_.end(), std::size_t{0},
                         [](std::size_t sum, const Entry& e) { return sum + e.size; });
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace ridgeline
