// The one list of layers: built-in ones and those of plugins enter by the same call, and everything that needs a layer
// finds it here by kind and name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "layer/layer.hpp"

namespace ridgeline {

/// What the numbers of a position are for: channels of tokens, or a bias of attention's scores.
enum class PositionUse { channels, bias };

/// One registered layer, activation or position.
struct LayerEntry {
  std::string kind;  ///< "attention", "ffn", "encoder", "activation", "position"
  std::string name;
  std::string summary;  ///< one line
  OptionSet options;
  static constexpr const char* built_in = "built in";
  std::string origin = built_in;  ///< or the plugin's file
  std::string version;            ///< the plugin's, or Ridgeline's

  /// What the layer promises with these options.
  std::function<Properties(const OptionValues&)> properties = [](const OptionValues&) { return Properties{}; };
  std::function<std::unique_ptr<Layer<float>>(Setup<float>&)> make_float;
  std::function<std::unique_ptr<Layer<double>>(Setup<double>&)> make_double;
  std::function<std::unique_ptr<Activation<float>>()> make_activation_float;
  std::function<std::unique_ptr<Activation<double>>()> make_activation_double;
  PositionUse position_use = PositionUse::channels;
  std::function<std::unique_ptr<Position<float>>(Setup<float>&)> make_position_float;
  std::function<std::unique_ptr<Position<double>>(Setup<double>&)> make_position_double;

  /// A layer that promises to be pointwise can be asked for one token after another, whatever it says itself.
  template <class Scalar>
  std::unique_ptr<Layer<Scalar>> make(Setup<Scalar>& setup) const;
  template <class Scalar>
  std::unique_ptr<Activation<Scalar>> make_activation() const;
  /// Its reserve throws Error(Exit::mistake) for more, or fewer, tokens than the position has numbers for.
  template <class Scalar>
  std::unique_ptr<Position<Scalar>> make_position(Setup<Scalar>& setup) const;
};

/// What a registration says before anyone asks for the layer: it is made while a program or a plugin is loaded, where
/// nothing may be thrown. `fill` declares the options, which may.
struct Registration {
  const char* kind;
  const char* name;
  const char* summary;
  void (*fill)(LayerEntry& entry);
};

class Registry {
 public:
  /// The program's registry, with all that was registered when it is first asked for.
  static Registry& instance();

  /// Keeps a registration until the registry takes it.
  static void announce(const Registration& registration) noexcept;
  /// What was announced since the last call.
  static std::vector<Registration> take_announced();

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

/// The entry that a registration announces, its options declared.
LayerEntry entry_of(const Registration& registration);

namespace detail {

template <class Class, class = void>
struct DeclaresProperties : std::false_type {};
template <class Class>
struct DeclaresProperties<Class, std::void_t<decltype(Class::properties(std::declval<const OptionValues&>()))>>
    : std::true_type {};

}  // namespace detail

/// Registers the layer `Class<Scalar>` for both precisions: it has a constructor from Setup<Scalar>&, and a static
/// `void declare(OptionSet&)`; where it promises more than every layer does, also a static
/// `Properties properties(const OptionValues&)`.
template <template <class> class Class>
struct LayerRegistration {
  LayerRegistration(const char* kind, const char* name, const char* summary) noexcept {
    Registry::announce(
        {kind, name, summary, [](LayerEntry& entry) {
           Class<double>::declare(entry.options);
           if constexpr (detail::DeclaresProperties<Class<double>>::value)
             entry.properties = [](const OptionValues& values) { return Class<double>::properties(values); };
           entry.make_float = [](Setup<float>& setup) { return std::make_unique<Class<float>>(setup); };
           entry.make_double = [](Setup<double>& setup) { return std::make_unique<Class<double>>(setup); };
         }});
  }
};

#define RIDGELINE_REGISTER_LAYER(kind, name, Class, summary) \
  static const ::ridgeline::LayerRegistration<Class> Class##_registration(kind, name, summary)

/// Registers the position `Class<Scalar>` for both precisions: it has a constructor from Setup<Scalar>&, a static
/// `void declare(OptionSet&)`, and a static constexpr PositionUse `use`.
template <template <class> class Class>
struct PositionRegistration {
  PositionRegistration(const char* name, const char* summary) noexcept {
    Registry::announce(
        {"position", name, summary, [](LayerEntry& entry) {
           Class<double>::declare(entry.options);
           entry.position_use = Class<double>::use;
           entry.make_position_float = [](Setup<float>& setup) { return std::make_unique<Class<float>>(setup); };
           entry.make_position_double = [](Setup<double>& setup) { return std::make_unique<Class<double>>(setup); };
         }});
  }
};

#define RIDGELINE_REGISTER_POSITION(name, Class, summary) \
  static const ::ridgeline::PositionRegistration<Class> Class##_registration(name, summary)

}  // namespace ridgeline
