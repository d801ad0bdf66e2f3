// The check that a checkpoint holds all there is of a layer.
#include <unistd.h>

#include <filesystem>

#include "conform/check.hpp"
#include "conform/gradient_check.hpp"
#include "train/checkpoint.hpp"

namespace ridgeline::conform {
namespace {

/// A folder of its own, gone with this.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / (folder_beginning(getpid()) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) throw Error(Exit::file, "no folder " + name + " can be made.");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

template <class Scalar>
Finding checkpoint_in(const Case& tried) {
  const auto layer = prepared_layer<Scalar>(tried.layer, tried.sizes, 1);
  if (layer->parameters().entries().empty()) return not_applicable("it has no parameters");
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  differentiate(*layer, x, dy);
  const Tokens before = evaluate(*layer, x);
  const Folder folder;
  write_checkpoint<Scalar>(folder / "checkpoint.h5", layer->parameters(), Adam<Scalar>(layer->parameters().length()),
                           TrainingState());

  // As a run that goes on: another layer, which has been used with other parameters.
  const auto later = prepared_layer<Scalar>(tried.layer, tried.sizes, 2);
  evaluate(*later, x);
  read_parameters(folder / "checkpoint.h5", later->parameters());
  for (const auto& entry : layer->parameters().entries()) {
    const auto* same = later->parameters().find(entry.name);
    if (same == nullptr || later->parameters().get(*same) != layer->parameters().get(entry))
      return failed("the parameter " + entry.name + " comes back changed");
  }
  if (evaluate(*later, x).values != before.values)
    return failed("all parameters come back, and the output does not: the layer keeps something else");
  return passed();
}

}  // namespace

Finding checkpoint(const Case& tried) {
  const Finding single = checkpoint_in<float>(tried);
  return single.result == Finding::Result::passed ? checkpoint_in<double>(tried) : single;
}

}  // namespace ridgeline::conform
