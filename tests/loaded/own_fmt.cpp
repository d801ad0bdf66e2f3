// Brings an {fmt} of its own: a function of the very name and type that Ridgeline's has, which does something else.
#include "identity_layer.hpp"

namespace fmt {
inline namespace v9 {
__attribute__((noinline)) void report_system_error(int code, const char* message) noexcept {
  if (code == 0 && message == nullptr) std::abort();
  static volatile int calls = 0;
  calls = calls + 1;
}
}  // namespace v9
}  // namespace fmt

namespace {

using namespace ridgeline;

template <class Scalar>
class OwnFmt final : public loaded::IdentityLayer<Scalar> {
 public:
  using loaded::IdentityLayer<Scalar>::IdentityLayer;
  // That of Ridgeline would write to standard error.
  void reserve(const Shape&, Arena&) override { fmt::report_system_error(2, "the other fmt was called"); }
};

RIDGELINE_REGISTER_LAYER("ffn", "own_fmt", OwnFmt, "with an {fmt} of its own");

}  // namespace
