// The one list of layers: built-in ones and those of plugins enter by the same call, and everything that needs a layer
// finds it here by kind and name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layer/layer.hpp"

namespace ridgeline {

/// One registered layer or activation.
struct LayerEntry {
  std::string kind;  ///< "attention", "ffn", "encoder", "activation"
  std::string name;
  std::string summary;  ///< one line
  OptionSet options;
  std::string origin = "built in";  ///< or the plugin's file

  std::function<std::unique_ptr<Layer<float>>(Setup<float>&)> make_float;
  std::function<std::unique_ptr<Layer<double>>(Setup<double>&)> make_double;
  std::function<std::unique_ptr<Activation<float>>()> make_activation_float;
  std::function<std::unique_ptr<Activation<double>>()> make_activation_double;

  template <class Scalar>
  std::unique_ptr<Layer<Scalar>> make(Setup<Scalar>& setup) const;
  template <class Scalar>
  std::unique_ptr<Activation<Scalar>> make_activation() const;
};

class Registry {
 public:
  /// The program's registry.
  static Registry& instance();

  /// Throws std::logic_error where kind and name are taken.
  void add(LayerEntry entry);

  /// Null where there is none.
  const LayerEntry* find(const std::string& kind, const std::string& name) const;
  /// Throws Error(Exit::mistake) where there is none, with the nearest name.
  const LayerEntry& get(const std::string& kind, const std::string& name) const;

  /// Every kind, and the names of one kind, in alphabetical order.
  std::vector<std::string> kinds() const;
  std::vector<std::string> names(const std::string& kind) const;

 private:
  std::map<std::string, std::map<std::string, LayerEntry>> entries_;
};

/// Registers the layer `Class<Scalar>` for both precisions: it has a constructor from Setup<Scalar>&, and a static
/// `void declare(OptionSet&)`.
template <template <class> class Class>
struct LayerRegistration {
  LayerRegistration(const char* kind, const char* name, const char* summary) {
    LayerEntry entry;
    entry.kind = kind;
    entry.name = name;
    entry.summary = summary;
    Class<double>::declare(entry.options);
    entry.make_float = [](Setup<float>& setup) { return std::make_unique<Class<float>>(setup); };
    entry.make_double = [](Setup<double>& setup) { return std::make_unique<Class<double>>(setup); };
    Registry::instance().add(std::move(entry));
  }
};

#define RIDGELINE_REGISTER_LAYER(kind, name, Class, summary) \
  static const ::ridgeline::LayerRegistration<Class> Class##_registration(kind, name, summary)

}  // namespace ridgeline
