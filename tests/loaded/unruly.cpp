// A plugin with the one flaw that the variable RIDGELINE_TEST_FLAW names: in what it registers, in the options of its
// layer, or in what the layer does.
#include <cmath>
#include <cstdlib>
#include <new>
#include <string>

#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

bool has(const std::string& flaw) {
  const char* const wanted = std::getenv("RIDGELINE_TEST_FLAW");
  return wanted != nullptr && flaw == wanted;
}

/// Throws, or ends the program, where the flaw is of this place.
void misbehave(const std::string& place) {
  if (has(place + " stops")) throw Error(Exit::stopped, "stopped by my own wish.");
  if (has(place + " has no memory")) throw std::bad_alloc();
  if (has(place + " throws a number")) throw 42;
  if (has(place + " gives no reason")) throw std::runtime_error("..");
  if (has(place + " exits")) std::exit(0);
}

template <class Scalar>
class Unruly final : public loaded::IdentityLayer<Scalar> {
 public:
  explicit Unruly(Setup<Scalar>& setup) : loaded::IdentityLayer<Scalar>(setup) {
    misbehave("constructor");
    if (has("negative extent")) setup.parameters.declare(parameter_, "shift", {2, -3}, Initial::constant(0));
    if (has("initial values")) setup.parameters.declare(parameter_, "shift", {2}, Initial::constant(std::nan("")));
  }
  static void declare(OptionSet& options) {
    misbehave("declare");
    if (has("default out of range")) options.integer("width", 1, "of nothing").at_least(5);
    if (has("bounds upside down")) options.integer("width", 1, "of nothing").at_least(5).at_most(-5);
    if (has("default that is no number")) options.real("width", std::nan(""), "of nothing");
    if (has("default that is no choice")) options.choice("way", "north", {"left", "right"}, "to go");
    if (has("default with a comment")) options.text("words", "one # two", "to say");
    if (has("default of another length")) options.reals("three", {1, 2}, "numbers").count(3);
    if (has("kind of an option")) options.layer("inner", "nothing", "mlp", "inside");
    if (has("missing default")) options.layer("inner", "activation", "nowhere", "inside");
    if (has("many options"))
      for (int i = 0; i < 100000; ++i) options.flag("flag" + std::to_string(i), false, "one of many");
  }
  static Properties properties(const OptionValues&) {
    misbehave("properties");
    return {};
  }
  void reserve(const Shape& shape, Arena& arena) override {
    misbehave("reserve");
    if (has("growth")) kept_ = arena.kept<Scalar>(++calls_ * shape.rows(), 100);
  }
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    misbehave("forward");
    loaded::IdentityLayer<Scalar>::forward(x, residual, y);
  }
  Operations operations(const Shape& shape) const override {
    if (has("negative operations")) return {-1, 2};
    if (has("no operations")) return Operations::unknown();
    return loaded::IdentityLayer<Scalar>::operations(shape);
  }

 private:
  Parameter<Scalar> parameter_;
  Matrix<Scalar> kept_;
  int calls_ = 0;
};

const char* either(const char* flaw, const char* wrong, const char* right) { return has(flaw) ? wrong : right; }

const bool is_loaded = (misbehave("loading"), true);
const LayerRegistration<Unruly> registration(has("no kind") ? nullptr : either("kind", "fnn", "ffn"),
                                             has("no name") ? nullptr
                                                            : either("name", "a b", either("empty name", "", "unruly")),
                                             has("no summary") ? nullptr : "one flaw");

}  // namespace
