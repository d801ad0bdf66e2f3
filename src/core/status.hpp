// What the host reads of a training step: two numbers and the layers' signals, in one buffer and one copy.
#pragma once

#include <cstring>
#include <utility>

#include "core/signal.hpp"

namespace ridgeline {

class Status {
 public:
  /// The numbers of a step, doubles.
  enum Number { loss, norm, number_count };

  /// With a slot for each of `signals` layers.
  explicit Status(std::size_t signals)
      : device_("ridgeline::status", number_count + signals), host_(Kokkos::create_mirror_view(device_)) {}

  /// In device memory: where a kernel writes a number. Unmanaged: it lives as long as the status.
  Kokkos::View<double, Memory> on_device(Number number) const {
    return Kokkos::View<double, Memory>(reinterpret_cast<double*>(device_.data() + number));
  }

  /// In device memory, [signals].
  Kokkos::View<std::uint64_t*, Memory> signals() const {
    return Kokkos::subview(device_, std::make_pair(std::size_t{number_count}, device_.extent(0)));
  }

  /// Copies all to the host, once what writes it is done: a few hundred bytes.
  void read() { Kokkos::deep_copy(host_, device_); }

  /// As read last.
  double operator[](Number number) const {
    double value;
    std::memcpy(&value, host_pointer(host_) + number, sizeof value);
    return value;
  }
  std::size_t signal_count() const { return host_.extent(0) - number_count; }
  Signal::Content signal(std::size_t slot) const { return Signal::decode(host_pointer(host_)[number_count + slot]); }

 private:
  Kokkos::View<std::uint64_t*, Memory> device_;
  Kokkos::View<std::uint64_t*, Memory>::HostMirror host_;
};

}  // namespace ridgeline
