#include "subject.hpp"

namespace ridgeline::support {
namespace {

template <class Scalar>
class BlockAlone final : public Standalone<Scalar> {
 public:
  BlockAlone(Residual residual, const LayerName& attention, const LayerName& ffn, int width)
      : Standalone<Scalar>(width, width, 2) {
    auto attention_layer = this->make(attention, width, width, "attention", 0);
    auto ffn_layer = this->make(ffn, width, width, "ffn", 1);
    block_ = std::make_unique<Block<Scalar>>(residual, width, ParameterScope<Scalar>(this->parameters_, ""),
                                             std::move(attention_layer), std::move(ffn_layer));
    this->parameters_.allocate();
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar>, Tensor<Scalar> y) override {
    this->lay_out(shape_of(x));
    block_->forward(x, y);
  }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    block_->backward(x, dy, dx);
  }

  std::string complaint() const override {
    const auto contents = read_signals(this->signals_);
    if (contents[0].raised) return "attention: " + block_->attention().explain(contents[0]);
    if (contents[1].raised) return "ffn: " + block_->ffn().explain(contents[1]);
    return "";
  }

 private:
  void reserve(const Shape& shape, Arena& arena) override { block_->reserve(shape, arena); }

  std::unique_ptr<Block<Scalar>> block_;
};

template <class Scalar>
class WholeModel final : public Subject<Scalar> {
 public:
  explicit WholeModel(const ModelPlan& plan) : Subject<Scalar>(plan.inputs, plan.targets), model_(plan) {
    model_.allocate();
  }

  Parameters<Scalar>& parameters() override { return model_.parameters(); }
  void prepare(const std::vector<Shape>& shapes) override { model_.prepare(shapes); }
  void forward(Tensor<const Scalar> x, Tensor<const Scalar>, Tensor<Scalar> y) override { model_.forward(x, y); }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    model_.backward(x, dy, dx);
  }
  void clear_signals() override { model_.clear_signals(); }

  std::string complaint() const override {
    const auto contents = read_signals(model_.signals());
    for (std::size_t slot = 0; slot < contents.size(); ++slot)
      if (contents[slot].raised) return model_.explain(slot, contents[slot]);
    return "";
  }

 private:
  Model<Scalar> model_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_block(Residual residual, const LayerName& attention, const LayerName& ffn,
                                            int width) {
  return std::make_unique<BlockAlone<Scalar>>(residual, attention, ffn, width);
}

template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_model(const ModelPlan& plan) {
  return std::make_unique<WholeModel<Scalar>>(plan);
}

#define RIDGELINE_INSTANTIATE(Scalar)                                                                      \
  template std::unique_ptr<Subject<Scalar>> make_block(Residual, const LayerName&, const LayerName&, int); \
  template std::unique_ptr<Subject<Scalar>> make_model(const ModelPlan&);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::support
