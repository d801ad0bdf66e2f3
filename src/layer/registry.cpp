#include "layer/registry.hpp"

#include <stdexcept>
#include <type_traits>

#include "config/text.hpp"
#include "core/error.hpp"

namespace ridgeline {

template <class Scalar>
std::string Layer<Scalar>::explain(const Signal::Content& content) const {
  return "position " + std::to_string(content.where) + " (" + std::to_string(content.number) + ")";
}

template class Layer<float>;
template class Layer<double>;

template <class Scalar>
std::unique_ptr<Layer<Scalar>> LayerEntry::make(Setup<Scalar>& setup) const {
  if constexpr (std::is_same_v<Scalar, float>)
    return make_float(setup);
  else
    return make_double(setup);
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

Registry& Registry::instance() {
  static Registry registry;
  return registry;
}

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
