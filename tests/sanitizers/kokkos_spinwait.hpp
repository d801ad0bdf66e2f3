// Kokkos' waits, as the thread sanitizer understands them. Included before everything else under RIDGELINE_SANITIZE=
// thread: it stands in for Kokkos' impl/Kokkos_Spinwait.hpp (3.4), which waits on a volatile integer between fences of
// assembler, where the sanitizer sees no order. An atomic load that acquires is the same on the hardware, and one that
// it knows. What releases is in volatile_accesses.cpp.
#ifndef KOKKOS_SPINWAIT_HPP
#define KOKKOS_SPINWAIT_HPP

#include <Kokkos_Macros.hpp>

// Its functions expect this one's.
#include <Kokkos_Atomic.hpp>

#include <cstdint>

namespace Kokkos::Impl {

enum class WaitMode : int { ACTIVE, PASSIVE, ROOT };  // in this order in the library

void host_thread_yield(std::uint32_t round, WaitMode mode);

template <class Integer, class Condition>
void wait_while(const volatile Integer& flag, WaitMode mode, Condition condition) {
  for (std::uint32_t round = 1; condition(__atomic_load_n(&flag, __ATOMIC_ACQUIRE)); ++round)
    host_thread_yield(round, mode);
}

template <class Integer>
void spinwait_while_equal(const volatile Integer& flag, Integer value) {
  wait_while(flag, WaitMode::ACTIVE, [=](Integer seen) { return seen == value; });
}

template <class Integer>
void spinwait_until_equal(const volatile Integer& flag, Integer value) {
  wait_while(flag, WaitMode::ACTIVE, [=](Integer seen) { return seen != value; });
}

template <class Integer>
void yield_while_equal(const volatile Integer& flag, Integer value) {
  wait_while(flag, WaitMode::PASSIVE, [=](Integer seen) { return seen == value; });
}

template <class Integer>
void yield_until_equal(const volatile Integer& flag, Integer value) {
  wait_while(flag, WaitMode::PASSIVE, [=](Integer seen) { return seen != value; });
}

template <class Integer>
void root_spinwait_while_equal(const volatile Integer& flag, Integer value) {
  wait_while(flag, WaitMode::ROOT, [=](Integer seen) { return seen == value; });
}

template <class Integer>
void root_spinwait_until_equal(const volatile Integer& flag, Integer value) {
  wait_while(flag, WaitMode::ROOT, [=](Integer seen) { return seen != value; });
}

}  // namespace Kokkos::Impl

#endif
