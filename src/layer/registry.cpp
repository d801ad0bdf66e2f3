#include "layer/registry.hpp"

#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "config/text.hpp"
#include "core/error.hpp"
#include "version.hpp"

namespace ridgeline {

template <class Scalar>
std::string Layer<Scalar>::explain(const Signal::Content& content) const {
  return "position " + std::to_string(content.where) + " (" + std::to_string(content.number) + ")";
}

template class Layer<float>;
template class Layer<double>;

namespace {

/// Calls what a plugin wrote: whatever it throws names the layer and the plugin.
template <class Call>
void guarded(const std::string& title, const char* failing, Exit status, const Call& call) {
  const auto sentence = [&](std::string what) {
    while (!what.empty() && (what.back() == '.' || what.back() == '\n')) what.pop_back();
    return title + " " + failing + ": " + excerpt(what, 400) + ".";
  };
  try {
    call();
  } catch (const Error& error) {
    if (error.status() == Exit::stopped) throw;
    throw Error(status, sentence(error.what()));
  } catch (const std::bad_alloc&) {
    throw;  // there is not enough memory, whosever layer asked for it
  } catch (const std::exception& error) {
    throw Error(status, sentence(error.what()));
  } catch (...) {
    throw Error(status, sentence("it threw something that is no std::exception"));
  }
}

/// A layer of a plugin.
template <class Scalar>
class GuardedLayer final : public Layer<Scalar> {
 public:
  GuardedLayer(std::string title, std::unique_ptr<Layer<Scalar>> layer)
      : title_(std::move(title)), layer_(std::move(layer)) {}

  void reserve(const Shape& shape, Arena& arena) override {
    call("failed where it reserves memory", [&] { layer_->reserve(shape, arena); });
  }
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    call("failed in its forward pass", [&] { layer_->forward(x, residual, y); });
  }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    call("failed in its backward pass", [&] { layer_->backward(x, dy, dx); });
  }
  Operations operations(const Shape& shape) const override {
    Operations operations;
    call("failed where it counts operations", [&] { operations = layer_->operations(shape); });
    return operations;
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

  std::string title_;
  std::unique_ptr<Layer<Scalar>> layer_;
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
  if (origin == built_in) return make_plain();
  const std::string title = kind + "/" + name + " of the plugin " + origin;
  std::unique_ptr<Layer<Scalar>> layer;
  guarded(title, "cannot be made", Exit::mistake, [&] { layer = make_plain(); });
  if (!layer) throw Error(Exit::mistake, title + " cannot be made: there was no layer.");
  return std::make_unique<GuardedLayer<Scalar>>(title, std::move(layer));
}

template <class Scalar>
std::unique_ptr<Activation<Scalar>> LayerEntry::make_activation() const {
  if constexpr (std::is_same_v<Scalar, float>)
    return make_activation_float();
  else
    return make_activation_double();
}

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
