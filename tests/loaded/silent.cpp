// Registers nothing.
namespace {
[[maybe_unused]] const int nothing = 0;
}
