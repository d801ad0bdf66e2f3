#include "layer/registry.hpp"

#include <map>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "config/text.hpp"
#include "core/error.hpp"
#include "layer/foreign.hpp"
#include "version.hpp"

namespace ridgeline {

template <class Scalar>
std::string Layer<Scalar>::explain(const Signal::Content& content) const {
  return "position " + std::to_string(content.where) + " (" + std::to_string(content.number) + ")";
}

namespace {

[[noreturn]] void refuse_sequences() {
  throw std::logic_error("this layer was asked for one token after another, which it does not do");
}

}  // namespace

template <class Scalar>
void Layer<Scalar>::reserve_sequence(const Shape& /*longest*/, Arena& /*arena*/) {
  refuse_sequences();
}

template <class Scalar>
void Layer<Scalar>::next_token(Tensor<const Scalar> /*x*/, Tensor<const Scalar> /*residual*/, Tensor<Scalar> /*y*/) {
  refuse_sequences();
}

template class Layer<float>;
template class Layer<double>;

namespace {

/// What is handed out of an arena so far, in bytes, but for what a frame took back.
std::size_t used_bytes(const Arena& arena) { return arena.kept_block().used + arena.passing_block().used; }

/// A layer of a plugin.
template <class Scalar>
class GuardedLayer final : public Layer<Scalar> {
 public:
  GuardedLayer(std::string title, std::unique_ptr<Layer<Scalar>> layer)
      : title_(std::move(title)), layer_(std::move(layer)) {}

  void reserve(const Shape& shape, Arena& arena) override {
    call("failed where it reserves memory", [&] {
      const std::size_t before = used_bytes(arena);
      layer_->reserve(shape, arena);
      check_reserved("samples", shape, used_bytes(arena) - before);
    });
  }
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    call("failed in its forward pass", [&] { layer_->forward(x, residual, y); });
  }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    call("failed in its backward pass", [&] { layer_->backward(x, dy, dx); });
  }
  Operations operations(const Shape& shape) const override {
    Operations operations;
    call("failed where it counts operations", [&] {
      operations = layer_->operations(shape);
      if (operations.known) check_counts(operations);
    });
    return operations;
  }
  int extra_channels() const override { return ask(&Layer<Scalar>::extra_channels); }
  void set_extra(Tensor<const Scalar> extra, Tensor<Scalar> dextra) override {
    call("failed where it is given extra channels", [&] { layer_->set_extra(extra, dextra); });
  }
  bool continues() const override { return ask(&Layer<Scalar>::continues); }
  void reserve_sequence(const Shape& longest, Arena& arena) override {
    call("failed where it reserves memory", [&] {
      const std::size_t before = used_bytes(arena);
      layer_->reserve_sequence(longest, arena);
      check_reserved("sequences", longest, used_bytes(arena) - before);
    });
  }
  void begin_sequence() override {
    call("failed where it begins a sequence", [&] { layer_->begin_sequence(); });
  }
  void next_token(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    call("failed at a token of a sequence", [&] { layer_->next_token(x, residual, y); });
  }
  std::string explain(const Signal::Content& content) const override {
    std::string text;
    call("failed where it explains a signal", [&] { text = layer_->explain(content); });
    return text;
  }

 private:
  template <class Call>
  void call(const char* failing, const Call& what) const {
    guarded(title_, failing, Exit::numerical, what);
  }
  template <class Answer>
  Answer ask(Answer (Layer<Scalar>::*question)() const) const {
    Answer answer{};
    call("failed where it says what it is", [&] { answer = ((*layer_).*question)(); });
    return answer;
  }

  /// Memory is measured before it is there: a layer that takes more later would write beyond it.
  void check_reserved(const char* what, const Shape& shape, std::size_t bytes) {
    const auto [first, is_new] = reserved_.emplace(std::tuple(what, shape.batch, shape.tokens), bytes);
    if (!is_new && bytes > first->second)
      throw std::length_error("for " + std::to_string(shape.batch) + " " + what + " of " +
                              std::to_string(shape.tokens) + " tokens it reserves more memory than it did before (" +
                              std::to_string(bytes) + " bytes, not " + std::to_string(first->second) + ")");
  }

  std::string title_;
  std::unique_ptr<Layer<Scalar>> layer_;
  std::map<std::tuple<std::string, int, int>, std::size_t> reserved_;  // bytes, by what, batch and tokens
};

/// A layer that takes each token by itself: of a sequence the next one is as any other.
template <class Scalar>
class PointwiseLayer final : public Layer<Scalar> {
 public:
  explicit PointwiseLayer(std::unique_ptr<Layer<Scalar>> layer) : layer_(std::move(layer)) {}

  void reserve(const Shape& shape, Arena& arena) override { layer_->reserve(shape, arena); }
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    layer_->forward(x, residual, y);
  }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    layer_->backward(x, dy, dx);
  }
  Operations operations(const Shape& shape) const override { return layer_->operations(shape); }
  int extra_channels() const override { return layer_->extra_channels(); }
  void set_extra(Tensor<const Scalar> extra, Tensor<Scalar> dextra) override { layer_->set_extra(extra, dextra); }
  std::string explain(const Signal::Content& content) const override { return layer_->explain(content); }

  bool continues() const override { return true; }
  void reserve_sequence(const Shape& longest, Arena& arena) override { layer_->reserve({longest.batch, 1}, arena); }
  void next_token(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    layer_->forward(x, residual, y);
  }

 private:
  std::unique_ptr<Layer<Scalar>> layer_;
};

/// A position of a plugin.
template <class Scalar>
class GuardedPosition final : public Position<Scalar> {
 public:
  GuardedPosition(std::string title, std::unique_ptr<Position<Scalar>> position)
      : title_(std::move(title)), position_(std::move(position)) {}

  void reserve(int tokens, Arena& arena) override {
    guarded(title_, "failed where it reserves memory", Exit::numerical, [&] { position_->reserve(tokens, arena); });
  }
  void forward(Matrix<Scalar> values) override {
    guarded(title_, "failed in its forward pass", Exit::numerical, [&] { position_->forward(values); });
  }
  void backward(Matrix<const Scalar> dvalues) override {
    guarded(title_, "failed in its backward pass", Exit::numerical, [&] { position_->backward(dvalues); });
  }
  int channels() const override { return ask(&Position<Scalar>::channels); }
  int shortest() const override { return ask(&Position<Scalar>::shortest); }
  int longest() const override { return ask(&Position<Scalar>::longest); }

 private:
  int ask(int (Position<Scalar>::*question)() const) const {
    int answer = 0;
    guarded(title_, "failed where it says what it has", Exit::numerical, [&] { answer = ((*position_).*question)(); });
    return answer;
  }

  std::string title_;
  std::unique_ptr<Position<Scalar>> position_;
};

/// A position that is asked for no more tokens than it has numbers for.
template <class Scalar>
class BoundedPosition final : public Position<Scalar> {
 public:
  BoundedPosition(std::string title, std::unique_ptr<Position<Scalar>> position)
      : title_(std::move(title)), position_(std::move(position)) {}

  void reserve(int tokens, Arena& arena) override {
    const int least = shortest(), most = longest();
    if (tokens < least || (most > 0 && tokens > most)) throw Error(Exit::mistake, refusal(tokens, least, most));
    position_->reserve(tokens, arena);
  }
  void forward(Matrix<Scalar> values) override { position_->forward(values); }
  void backward(Matrix<const Scalar> dvalues) override { position_->backward(dvalues); }
  int channels() const override { return position_->channels(); }
  int shortest() const override { return position_->shortest(); }
  int longest() const override { return position_->longest(); }

 private:
  std::string refusal(int tokens, int least, int most) const {
    const std::string number = tokens < least ? std::to_string(least) + (most == least ? "" : " and more")
                                              : (most == least ? "" : "at most ") + std::to_string(most);
    return title_ + " has numbers for " + number + " tokens, and a sample of " + std::to_string(tokens) + " is too " +
           (tokens < least ? "short" : "long") + ".";
  }

  std::string title_;
  std::unique_ptr<Position<Scalar>> position_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<Layer<Scalar>> LayerEntry::make(Setup<Scalar>& setup) const {
  const auto make_plain = [&]() -> std::unique_ptr<Layer<Scalar>> {
    if constexpr (std::is_same_v<Scalar, float>)
      return make_float(setup);
    else
      return make_double(setup);
  };
  std::unique_ptr<Layer<Scalar>> layer;
  if (origin == built_in) {
    layer = make_plain();
  } else {
    const std::string title = kind + "/" + name + " of the plugin " + origin;
    guarded(title, "cannot be made", Exit::mistake, [&] { layer = make_plain(); });
    if (!layer) throw Error(Exit::mistake, title + " cannot be made: there was no layer.");
    layer = std::make_unique<GuardedLayer<Scalar>>(title, std::move(layer));
  }
  if (properties(setup.options).pointwise && !layer->continues())
    layer = std::make_unique<PointwiseLayer<Scalar>>(std::move(layer));
  return layer;
}

template <class Scalar>
std::unique_ptr<Activation<Scalar>> LayerEntry::make_activation() const {
  if constexpr (std::is_same_v<Scalar, float>)
    return make_activation_float();
  else
    return make_activation_double();
}

template <class Scalar>
std::unique_ptr<Position<Scalar>> LayerEntry::make_position(Setup<Scalar>& setup) const {
  const auto make_plain = [&]() -> std::unique_ptr<Position<Scalar>> {
    if constexpr (std::is_same_v<Scalar, float>)
      return make_position_float(setup);
    else
      return make_position_double(setup);
  };
  const bool own = origin == built_in;
  const std::string title = kind + "/" + name + (own ? "" : " of the plugin " + origin);
  std::unique_ptr<Position<Scalar>> position;
  if (own) {
    position = make_plain();
  } else {
    guarded(title, "cannot be made", Exit::mistake, [&] { position = make_plain(); });
    if (!position) throw Error(Exit::mistake, title + " cannot be made: there was no position.");
    position = std::make_unique<GuardedPosition<Scalar>>(title, std::move(position));
  }
  return std::make_unique<BoundedPosition<Scalar>>(title, std::move(position));
}

template std::unique_ptr<Position<float>> LayerEntry::make_position(Setup<float>&) const;
template std::unique_ptr<Position<double>> LayerEntry::make_position(Setup<double>&) const;
template std::unique_ptr<Layer<float>> LayerEntry::make(Setup<float>&) const;
template std::unique_ptr<Layer<double>> LayerEntry::make(Setup<double>&) const;
template std::unique_ptr<Activation<float>> LayerEntry::make_activation() const;
template std::unique_ptr<Activation<double>> LayerEntry::make_activation() const;

LayerEntry entry_of(const Registration& registration) {
  LayerEntry entry;
  entry.kind = registration.kind;
  entry.name = registration.name;
  entry.summary = registration.summary;
  registration.fill(entry);
  return entry;
}

namespace {

/// Made when first asked for, and so before what is announced while the library itself is loaded.
std::vector<Registration>& announced() {
  static std::vector<Registration> list;
  return list;
}

Registry with_built_in_layers() {
  Registry registry;
  for (const Registration& registration : Registry::take_announced()) {
    LayerEntry entry = entry_of(registration);
    entry.version = version;
    registry.add(std::move(entry));
  }
  return registry;
}

}  // namespace

Registry& Registry::instance() {
  static Registry registry = with_built_in_layers();
  return registry;
}

void Registry::announce(const Registration& registration) noexcept { announced().push_back(registration); }

std::vector<Registration> Registry::take_announced() { return std::exchange(announced(), {}); }

void Registry::add(LayerEntry entry) {
  if (const LayerEntry* taken = find(entry.kind, entry.name))
    throw std::logic_error(entry.kind + "/" + entry.name + " is registered already (" + taken->origin + ")");
  auto& kind = entries_[entry.kind];
  const std::string name = entry.name;
  kind.emplace(name, std::move(entry));
}

const LayerEntry* Registry::find(const std::string& kind, const std::string& name) const {
  const auto names = entries_.find(kind);
  if (names == entries_.end()) return nullptr;
  const auto entry = names->second.find(name);
  return entry == names->second.end() ? nullptr : &entry->second;
}

const LayerEntry& Registry::get(const std::string& kind, const std::string& name) const {
  if (const LayerEntry* entry = find(kind, name)) return *entry;
  std::string sentence = "there is no layer " + excerpt(kind) + "/" + excerpt(name);
  const std::vector<std::string> known = entries_.count(kind) ? names(kind) : kinds();
  const std::string near = nearest(entries_.count(kind) ? name : kind, known);
  if (!near.empty())
    sentence += "; did you mean " + (entries_.count(kind) ? kind + "/" + near : near + "/" + excerpt(name)) + "?";
  if (near.empty()) sentence += "; `ridgeline layers` lists them.";
  throw Error(Exit::mistake, sentence);
}

std::vector<std::string> Registry::kinds() const {
  std::vector<std::string> list;
  for (const auto& [kind, names] : entries_) list.push_back(kind);
  return list;
}

std::vector<std::string> Registry::names(const std::string& kind) const {
  std::vector<std::string> list;
  const auto found = entries_.find(kind);
  if (found == entries_.end()) return list;
  for (const auto& [name, entry] : found->second) list.push_back(name);
  return list;
}

}  // namespace ridgeline
