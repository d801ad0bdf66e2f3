#include "case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/text.hpp"
#include "layer/registry.hpp"

namespace ridgeline::reference {
namespace {

/// Attributes of the files that a layer declares under another name.
const std::map<std::string, std::string>& option_names() {
  static const std::map<std::string, std::string> names = {
      {"bias", "position"},
      {"embed_channels", "embed"},
      {"encoder_layers", "layers"},
      {"out_channels", "out"},
  };
  return names;
}

Arrays read_group(const hdf5::File& file, const std::string& group) {
  Arrays arrays;
  if (!file.is_group(group)) return arrays;
  for (const std::string& name : file.datasets_below(group)) {
    const std::string path = group + "/" + name;
    arrays[name] = {file.shape(path), file.read<double>(path)};
  }
  return arrays;
}

struct ValueText {
  Option::Type type;

  std::string operator()(std::int64_t number) const {
    if (type == Option::Type::flag) return number != 0 ? "yes" : "no";
    return number_text(number);
  }
  std::string operator()(double number) const {
    const bool whole = std::nearbyint(number) == number && std::abs(number) < 1e15;
    return whole && type != Option::Type::real ? (*this)(static_cast<std::int64_t>(number)) : number_text(number);
  }
  std::string operator()(const std::string& text) const { return text; }
  template <class Entry>
  std::string operator()(const std::vector<Entry>& list) const {
    std::vector<std::string> texts;
    for (const Entry& entry : list) texts.push_back((*this)(entry));
    return join(texts, " ");
  }
};

/// A value as it would stand in a deck for an option of that type.
std::string text_of(const hdf5::Value& value, Option::Type type) { return std::visit(ValueText{type}, value); }

const hdf5::Value& attribute(const Case& reference, const std::string& name) {
  const auto found = reference.attributes.find(name);
  if (found == reference.attributes.end()) throw Failed("attribute " + name + " is missing");
  return found->second;
}

}  // namespace

Case read_case(const std::filesystem::path& path) {
  const hdf5::File file = hdf5::File::open(path);
  Case reference;
  reference.attributes = file.attributes("/");
  reference.input = read_group(file, "input");
  reference.parameters = read_group(file, "param");
  reference.output = read_group(file, "output");
  reference.cotangent = read_group(file, "cotangent");
  reference.input_gradient = read_group(file, "grad/input");
  reference.parameter_gradient = read_group(file, "grad/param");
  reference.final_parameters = read_group(file, "final_param");
  return reference;
}

std::string text_attribute(const Case& reference, const std::string& name) {
  if (const auto* text = std::get_if<std::string>(&attribute(reference, name))) return *text;
  throw Failed("attribute " + name + " is not a text");
}

double number_attribute(const Case& reference, const std::string& name) {
  const hdf5::Value& value = attribute(reference, name);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  throw Failed("attribute " + name + " is not a number");
}

int whole_attribute(const Case& reference, const std::string& name) {
  const double number = number_attribute(reference, name);
  if (!(number >= 0 && number <= 1e6 && std::nearbyint(number) == number))
    throw Failed(fmt::format("attribute {} = {:g} is not a whole number from 0 to a million", name, number));
  return static_cast<int>(number);
}

const Array& array_of(const Arrays& arrays, const std::string& group, const std::string& name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw Failed(group + "/" + name + " is missing");
  return found->second;
}

namespace {

support::Tokens tokens_in(const Array& array, const std::string& group, const std::string& name) {
  const hdf5::Shape& shape = array.shape;
  if (shape.size() != 3 || std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 1; }))
    throw Failed(group + "/" + name + " is " + hdf5::to_string(shape) + ", not [batch, tokens, channels]");
  const auto size = [&](int dimension) { return static_cast<int>(shape[dimension]); };
  return {{size(0), size(1)}, size(2), array.values};
}

}  // namespace

support::Tokens tokens_of(const Arrays& arrays, const std::string& group, const std::string& name) {
  const Array& array = array_of(arrays, group, name);
  const auto other = std::find_if(arrays.begin(), arrays.end(), [&](const auto& a) { return a.first != name; });
  if (other != arrays.end()) throw Failed(group + "/" + other->first + " is nothing that is known here");
  return tokens_in(array, group, name);
}

support::Tokens layer_input_of(const Arrays& arrays, const std::string& group) {
  Arrays rest = arrays;
  const auto extra = rest.extract("extra");
  const support::Tokens x = tokens_of(rest, group, "x");
  if (extra.empty()) return x;
  const support::Tokens more = tokens_in(extra.mapped(), group, "extra");
  if (!(more.shape == x.shape)) throw Failed(group + "/extra has not the tokens of " + group + "/x");
  support::Tokens all = conform::zeros(x.shape, x.channels + more.channels);
  for (int b = 0; b < x.shape.batch; ++b)
    for (int n = 0; n < x.shape.tokens; ++n)
      for (int c = 0; c < all.channels; ++c)
        all.at(b, n, c) = c < x.channels ? x.at(b, n, c) : more.at(b, n, c - x.channels);
  return all;
}

support::LayerName layer_of(const Case& reference, const std::string& kind, const std::string& name) {
  const Registry& registry = Registry::instance();
  const LayerEntry* entry = registry.find(kind, name);
  if (!entry || !entry->make_double) throw Skipped(kind + "/" + name + " is not registered");
  support::LayerName layer{kind, name};
  for (const auto& [attribute, value] : reference.attributes) {
    const Option* option = entry->options.find(attribute);
    if (const auto other = option_names().find(attribute); !option && other != option_names().end())
      option = entry->options.find(other->second);
    if (!option) continue;
    const std::string text = text_of(value, option->type());
    if (option->type() == Option::Type::layer && !registry.find(option->kind(), text))
      throw Skipped(option->kind() + "/" + text + " is not registered");
    layer.options[option->name()] = text;
  }
  return layer;
}

}  // namespace ridgeline::reference
