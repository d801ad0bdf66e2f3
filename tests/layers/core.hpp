// What attention does between its projections, by itself, given and asked for plain numbers.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "../../layers/attention/attention_core.hpp"
#include "support/subject.hpp"

namespace ridgeline::support {

struct CoreInputs {
  Tokens queries, keys_values, gradient;  // keys beside values; the gradient of the output

  CoreInputs(int embed, int out, const Shape& shape);
};

struct CoreResults {
  Tokens output, dqueries, dkeys_values;
};

/// A core with its memory.
template <class Scalar>
class CoreAlone {
 public:
  CoreAlone(std::unique_ptr<AttentionCore<Scalar>> core, const Shape& shape) : core_(std::move(core)) {
    core_->reserve(shape, arena_);
    arena_.allocate();
    arena_.restart();
    core_->reserve(shape, arena_);
  }

  /// Gradients of as many rows at a time as the core takes, or of all rows at once.
  CoreResults differentiate(const CoreInputs& inputs, bool at_once = false) {
    const Shape shape = inputs.queries.shape;
    const DeviceTokens<Scalar> queries(inputs.queries), keys_values(inputs.keys_values), gradient(inputs.gradient),
        output(zeros(shape, inputs.gradient.channels)), dqueries(zeros(shape, inputs.queries.channels)),
        dkeys_values(zeros(shape, inputs.keys_values.channels));
    core_->forward(queries.view, keys_values.view, output.view);
    core_->begin_backward(queries.view, keys_values.view, output.view, gradient.view);
    Rows rows{};
    for (int first = 0; first < shape.rows(); first += rows.count) {
      rows = at_once ? Rows{0, shape.rows()} : core_->rows_from(shape, first);
      const auto part = [&](const DeviceTokens<Scalar>& whole) {
        return Matrix<Scalar>(row_pointer(rows_of(whole.view), first), rows.count, extent(whole.view, 2));
      };
      core_->backward(queries.view, keys_values.view, output.view, gradient.view, rows, part(dqueries),
                      part(dkeys_values));
    }
    return {output.to_tokens(), dqueries.to_tokens(), dkeys_values.to_tokens()};
  }

  std::size_t bytes() const { return arena_.bytes(); }

 private:
  Arena arena_;
  std::unique_ptr<AttentionCore<Scalar>> core_;
};

/// max |a - b| beside the largest of b, or `at_least`; infinite where an entry is not finite.
double distance(const std::vector<double>& a, const std::vector<double>& b, double at_least = 1e-300);

}  // namespace ridgeline::support
