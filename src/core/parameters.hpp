// One flat buffer each for parameters and gradients. A layer declares what it needs and is handed views.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/tensor.hpp"

namespace ridgeline {

/// The distribution from which a parameter's initial values are drawn.
struct Initial {
  enum class Kind { constant, uniform, normal };
  Kind kind = Kind::constant;
  double first = 0;   ///< the constant; the lower bound; the mean
  double second = 0;  ///< unused; the upper bound; the standard deviation

  static Initial constant(double value) { return {Kind::constant, value, 0}; }
  static Initial uniform(double low, double high) { return {Kind::uniform, low, high}; }
  static Initial normal(double mean, double deviation) { return {Kind::normal, mean, deviation}; }
};

template <class Scalar>
class Parameters;

/// One named array of parameters and its gradient, both in the model's flat buffers. Void until Parameters::allocate.
template <class Scalar>
class Parameter {
 public:
  Vector<Scalar> value;     ///< all entries, last dimension fastest
  Vector<Scalar> gradient;  ///< dL/dvalue; backward passes add to it
  std::vector<int> shape;   ///< as a PyTorch state_dict has it: a linear layer's weight is [out, in]

  int rows() const { return shape.at(0); }
  int columns() const { return shape.at(1); }

  /// What to multiply the gradient by where a backward pass adds to all of it at once, as gemm's beta: 1, or 0 where there
  /// is no more than an earlier step's, which spares clearing and reading it. A backward pass that calls this does so on
  /// every call, before it adds anything else to this gradient.
  Scalar gradient_factor() {
    const bool begins = holds_former_;
    holds_former_ = false;
    is_asked_for_ = true;
    return begins ? Scalar(0) : Scalar(1);
  }

 private:
  friend class Parameters<Scalar>;
  bool is_asked_for_ = false;  // the factor, since the gradients were used last
  bool holds_former_ = false;  // the gradient is that of an earlier step, and waits to be overwritten
};

/// Every parameter of a model, under its full name.
template <class Scalar>
class Parameters {
 public:
  struct Entry {
    std::string name;
    std::vector<int> shape;
    Initial initial;
    std::size_t offset = 0;  ///< in the flat buffer, in elements
    std::size_t size = 0;
    Parameter<Scalar>* parameter = nullptr;
  };

  /// Declares a parameter; `parameter` must not move afterwards. Throws std::logic_error where the name is taken.
  void declare(Parameter<Scalar>& parameter, const std::string& name, const std::vector<int>& shape, Initial initial);

  /// Allocates the flat buffers, and points every declared parameter into them. Gradients start at zero.
  void allocate();

  /// Draws initial values: each entry depends on the seed, the parameter's name and its index only.
  void initialise(std::uint64_t seed);

  /// The entries of one parameter, on the host, in its own order.
  std::vector<double> get(const Entry& entry) const;
  std::vector<double> get_gradient(const Entry& entry) const;
  /// Throws std::logic_error where the number of values is not the parameter's.
  void set(const Entry& entry, const std::vector<double>& values);

  /// The entry of that name, or null.
  const Entry* find(const std::string& name) const;

  const std::vector<Entry>& entries() const { return entries_; }
  /// Entries of all parameters, without the padding between them.
  std::size_t count() const;
  /// Entries of a flat buffer, padding included.
  std::size_t length() const { return length_; }

  /// Whether the gradient of an entry need not be cleared once it has been used: see Parameter::gradient_factor.
  static bool may_keep_gradient(const Entry& entry) { return entry.parameter->is_asked_for_; }
  /// To be called when all gradients have been used, and those that may not be kept are cleared. Throws std::logic_error
  /// where one still held an earlier step's: its layer asked for the factor in that step's pass and not in this one's.
  void gradients_used();

  /// The flat buffers; padding between parameters is zero and stays so.
  Kokkos::View<Scalar*, Memory> values() const { return values_; }
  Kokkos::View<Scalar*, Memory> gradients() const { return gradients_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // of an entry, by name
  std::size_t length_ = 0;
  Kokkos::View<Scalar*, Memory> values_;
  Kokkos::View<Scalar*, Memory> gradients_;
};

/// The part of a model's parameters that belongs to one layer: names are put behind the layer's own.
template <class Scalar>
class ParameterScope {
 public:
  ParameterScope(Parameters<Scalar>& all, std::string prefix) : all_(&all), prefix_(std::move(prefix)) {}

  void declare(Parameter<Scalar>& parameter, const std::string& name, const std::vector<int>& shape,
               Initial initial) const {
    all_->declare(parameter, full_name(name), shape, initial);
  }
  ParameterScope inside(const std::string& name) const { return {*all_, full_name(name)}; }

 private:
  std::string full_name(const std::string& name) const { return prefix_.empty() ? name : prefix_ + "." + name; }

  Parameters<Scalar>* all_;
  std::string prefix_;
};

extern template class Parameters<float>;
extern template class Parameters<double>;

}  // namespace ridgeline
