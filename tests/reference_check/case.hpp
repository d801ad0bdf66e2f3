// One reference file: attributes that name a layer and its options, and arrays.
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/subject.hpp"
#include "io/hdf5.hpp"

namespace ridgeline::reference {

/// Why a file cannot be checked: it asks for something that this build has not.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What is wrong with a file, or with the layer that it describes.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Array {
  hdf5::Shape shape;
  std::vector<double> values;
};

/// Arrays of a group by their path inside it.
using Arrays = std::map<std::string, Array>;

struct Case {
  std::map<std::string, hdf5::Value> attributes;
  Arrays input, parameters, output, cotangent, input_gradient, parameter_gradient, final_parameters;
};

/// Throws Error(Exit::file) where the file or a part of it cannot be read.
Case read_case(const std::filesystem::path& path);

/// Of an attribute that must be there; throws Failed where it is not or has another type.
std::string text_attribute(const Case& reference, const std::string& name);
double number_attribute(const Case& reference, const std::string& name);
int whole_attribute(const Case& reference, const std::string& name);

/// The array of that name; throws Failed, naming `group`, where there is none.
const Array& array_of(const Arrays& arrays, const std::string& group, const std::string& name);

/// The one array of a group, as tokens [batch, tokens, channels]; throws Failed where the group holds another name too,
/// or the array has not three dimensions, all above zero.
support::Tokens tokens_of(const Arrays& arrays, const std::string& group, const std::string& name);

/// The tokens "x" of a group, behind whose channels are those of "extra" where the group holds these too: as a layer that
/// stands alone takes them.
support::Tokens layer_input_of(const Arrays& arrays, const std::string& group);

/// The layer of that kind and name with all attributes that are options of it. Throws Skipped where the layer, or one
/// that its options name, is not registered.
support::LayerName layer_of(const Case& reference, const std::string& kind, const std::string& name);

}  // namespace ridgeline::reference
