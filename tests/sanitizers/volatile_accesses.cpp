// The threads of Kokkos' Threads back end tell each other how far they are by volatile integers between fences, which
// the thread sanitizer takes for races. GCC's --param=tsan-distinguish-volatile=1 makes it call the functions below
// just before each volatile access: a write releases what its thread did before, a read acquires what was released to
// that address. A read may still see a write that comes after its call; so the address is acquired again at the
// thread's next volatile access. Where no such access follows before data is touched, Kokkos waits in
// kokkos_spinwait.hpp.
#include <sanitizer/tsan_interface.h>

namespace {

thread_local void* last_read = nullptr;

void acquire_last_read() {
  if (last_read != nullptr) __tsan_acquire(last_read);
}

void before_read(void* address) {
  acquire_last_read();
  __tsan_acquire(address);
  last_read = address;
}

void before_write(void* address) {
  acquire_last_read();
  __tsan_release(address);
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): GCC's names
#define RIDGELINE_VOLATILE(SIZE)                                                     \
  void __tsan_volatile_read##SIZE(void* address) { before_read(address); }           \
  void __tsan_unaligned_volatile_read##SIZE(void* address) { before_read(address); } \
  void __tsan_volatile_write##SIZE(void* address) { before_write(address); }         \
  void __tsan_unaligned_volatile_write##SIZE(void* address) { before_write(address); }

extern "C" {
RIDGELINE_VOLATILE(1)
RIDGELINE_VOLATILE(2)
RIDGELINE_VOLATILE(4)
RIDGELINE_VOLATILE(8)
RIDGELINE_VOLATILE(16)
}
// NOLINTEND(bugprone-reserved-identifier)
