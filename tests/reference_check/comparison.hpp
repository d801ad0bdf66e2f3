// How far computed values are from a file's.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::reference {

/// max |a - b| / max |b| over an array, b being the reference. Where b is zero, or nothing but rounding beside
/// `largest` (the greatest magnitude in arrays of its kind), the error is relative to that instead. NaN where a holds
/// one.
double relative_error(const std::vector<double>& a, const std::vector<double>& b, double largest);

double largest_magnitude(const std::vector<double>& values);

/// The worst of many errors, each seen beside what is allowed for it.
class Worst {
 public:
  void add(const std::string& what, double error, double allowed);

  bool passed() const { return share_ <= 1; }
  double error() const { return error_; }
  double allowed() const { return allowed_; }
  const std::string& what() const { return what_; }

 private:
  double share_ = -1;  // of what is allowed
  double error_ = 0;
  double allowed_ = 0;
  std::string what_;
};

}  // namespace ridgeline::reference
