// A static object of its own that throws while the library is loaded.
#include <stdexcept>

namespace {

struct Bursting {
  Bursting() { throw std::runtime_error("not today"); }
} const bursting;

}  // namespace
