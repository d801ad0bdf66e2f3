#include "layer/plugin.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "config/deck.hpp"
#include "config/text.hpp"
#include "core/error.hpp"
#include "io/files.hpp"
#include "layer/foreign.hpp"
#include "layer/plugin_note.hpp"
#include "layer/registry.hpp"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

Error mistake(const fs::path& file, const std::string& complaint) {
  return {Exit::mistake, "the plugin " + excerpt(file.string(), 200) + " " + complaint};
}

// --- the note in the file -------------------------------------------------------------------------------------------------

/// A part of the file as a structure; nothing where the file ends before.
template <class Structure>
std::optional<Structure> at(const std::string& bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Structure)) return std::nullopt;
  Structure structure;
  std::memcpy(&structure, bytes.data() + offset, sizeof structure);
  return structure;
}

std::uint64_t rounded_up(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

constexpr char owner_name[] = "Ridgeline";  // with its zero

/// The text of Ridgeline's note among the notes of a segment.
std::optional<std::string> text_among(const std::string& bytes, std::uint64_t begin, std::uint64_t size) {
  const std::uint64_t end = size > bytes.size() || begin > bytes.size() - size ? 0 : begin + size;
  for (std::uint64_t offset = begin; offset < end;) {
    const auto note = at<Elf64_Nhdr>(bytes, offset);
    if (!note) return std::nullopt;
    const std::uint64_t owner = offset + sizeof *note, text = owner + rounded_up(note->n_namesz);
    const std::uint64_t next = text + rounded_up(note->n_descsz);
    if (next > end) return std::nullopt;
    if (bytes.compare(owner, note->n_namesz, owner_name, sizeof owner_name) == 0 && note->n_type == 1) {
      const std::string found = bytes.substr(text, note->n_descsz);
      return found.substr(0, found.find('\0'));
    }
    offset = next;
  }
  return std::nullopt;
}

/// Nothing where the file is a library without a note of Ridgeline.
std::optional<std::string> note_text(const fs::path& file, const std::string& bytes) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) throw mistake(file, "is not a library.");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN)
    throw mistake(file, "is not a shared library for this kind of machine.");
  std::optional<std::string> text;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(bytes, header->e_phoff + std::uint64_t{i} * sizeof(Elf64_Phdr));
    // The loader maps what the file should hold: where it ends before, a look at it ends the program.
    if (!segment || segment->p_filesz > bytes.size() || segment->p_offset > bytes.size() - segment->p_filesz)
      throw mistake(file, "is cut short.");
    if (segment->p_type == PT_NOTE && !text) text = text_among(bytes, segment->p_offset, segment->p_filesz);
  }
  return text;
}

/// "part: value" lines as pairs.
std::vector<std::pair<std::string, std::string>> parts_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> parts;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    parts.emplace_back(line.substr(0, colon), std::string(trim(line.substr(std::min(colon + 1, line.size())))));
  }
  return parts;
}

std::string value_of(const std::vector<std::pair<std::string, std::string>>& parts, const std::string& part) {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& entry) { return entry.first == part; });
  return found == parts.end() ? "" : found->second;
}

Plugin plugin_of(const fs::path& file, const std::string& note) {
  const auto parts = parts_of(note);
  std::vector<std::string> differences;
  for (const auto& [part, own] : parts_of(RIDGELINE_FINGERPRINT)) {
    const std::string value = value_of(parts, part);
    if (value != own)
      differences.push_back(
          fmt::format("{} ({}, this program's is {})", part, value.empty() ? "none" : excerpt(value), own));
  }
  if (!differences.empty())
    throw mistake(file, "was built for another program: it differs in " + phrase(differences, "and") +
                            "; build it again with this Ridgeline.");
  return {file, value_of(parts, "plugin"), value_of(parts, "version"), {}};
}

// --- loading --------------------------------------------------------------------------------------------------------------

std::vector<Plugin>& plugins() {
  static std::vector<Plugin> list;
  return list;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && name ? name.get() : symbol;
}

/// What dlopen complained of, without the file's name.
std::string loader_complaint(const fs::path& file) {
  const char* const said = dlerror();
  std::string text = said != nullptr ? said : "it cannot be loaded";
  const std::string marker = "undefined symbol: ";
  if (const std::size_t found = text.find(marker); found != std::string::npos) {
    const std::string symbol = text.substr(found + marker.size());
    return "misses a symbol: " + excerpt(demangled(symbol.substr(0, symbol.find_first_of(" ,\t("))), 200) + ".";
  }
  if (text.rfind(file.string() + ": ", 0) == 0) text.erase(0, file.string().size() + 2);
  return "cannot be loaded: " + excerpt(text, 200) + ".";
}

/// Why a registration is none, as the end of a sentence about the plugin; empty where it is right.
std::string complaint_of(const Registration& registration) {
  if (registration.kind == nullptr || registration.name == nullptr || registration.summary == nullptr)
    return "registers a layer without a kind, a name or a summary.";
  const std::string kind = registration.kind, name = registration.name;
  const std::string title = excerpt(kind) + "/" + excerpt(name);
  const std::vector<std::string> kinds = Registry::instance().kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    return "has a layer " + title + ", and there is no such kind" +
           suggestion(kind, kinds, "the kinds are " + phrase(kinds, "and"));
  const auto fits = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '-';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), fits))
    return "has a layer " + title + ", which no deck can name; a name is made of letters, digits, _ and -.";
  return "";
}

/// Whether a deck reads a value back as it is.
bool is_held_by_a_deck(const std::string& key, const std::string& value) {
  try {
    const Deck deck = Deck::parse(fmt::format("[layer]\n{} = {}\n", key, value), "");
    return deck.sections.size() == 1 && deck.sections[0].entries.size() == 1 &&
           deck.sections[0].entries[0].value == value;
  } catch (const Error&) {
    return false;
  }
}

/// Throws std::logic_error where a default is not what its option takes, or an option names layers of no kind.
void check_options(const OptionSet& options) {
  const std::vector<std::string> kinds = Registry::instance().kinds();
  for (const Option& option : options.options())
    if (!option.kind().empty() && std::find(kinds.begin(), kinds.end(), option.kind()) == kinds.end())
      throw std::logic_error("the option " + option.name() + " is a layer of the kind " + excerpt(option.kind()) +
                             ", and there is no such kind");
  for (const auto& [key, value] : OptionValues::defaults(options).resolved())
    if (!is_held_by_a_deck(key, value))
      throw std::logic_error("the default of option " + key + " is none that a deck can hold: " + excerpt(value));
}

/// Why an entry is none of its kind, as the end of a sentence about the plugin; empty where it is.
std::string complaint_of(const LayerEntry& entry) {
  const bool is_activation = entry.kind == "activation", is_position = entry.kind == "position";
  if (is_activation == (entry.make_activation_double != nullptr) &&
      is_position == (entry.make_position_double != nullptr))
    return "";
  const char* const call = is_activation ? "RIDGELINE_REGISTER_ACTIVATION"
                           : is_position ? "RIDGELINE_REGISTER_POSITION"
                                         : "RIDGELINE_REGISTER_LAYER";
  return "registers " + entry.kind + "/" + entry.name + " by the call for another kind; it takes " + call + ".";
}

/// What a registration of a plugin announces, checked. Throws what the plugin throws.
LayerEntry checked_entry(const Plugin& plugin, const Registration& registration) {
  LayerEntry entry = entry_of(registration);
  check_options(entry.options);
  entry.summary = excerpt(entry.summary, std::string::npos);
  entry.origin = plugin.file.string();
  entry.version = plugin.version;
  const std::string title = entry.kind + "/" + entry.name + " of the plugin " + entry.origin;
  entry.properties = [title, promised = entry.properties](const OptionValues& values) {
    Properties properties;
    guarded(title, "failed where it says its properties", Exit::numerical, [&] { properties = promised(values); });
    return properties;
  };
  return entry;
}

/// The entries that a plugin announced, all or none.
std::vector<LayerEntry> declared(const Plugin& plugin, const std::vector<Registration>& announced) {
  std::vector<LayerEntry> entries;
  for (const Registration& registration : announced) {
    const std::string complaint = complaint_of(registration);
    if (!complaint.empty()) throw mistake(plugin.file, complaint);
    const std::string title = std::string(registration.kind) + "/" + registration.name;
    try {
      entries.push_back(checked_entry(plugin, registration));
    } catch (...) {
      throw mistake(plugin.file, "cannot declare the options of " + excerpt(title) + ": " + thrown_reason(200) + ".");
    }
    if (const std::string reason = complaint_of(entries.back()); !reason.empty()) throw mistake(plugin.file, reason);
    const LayerEntry* taken = Registry::instance().find(registration.kind, registration.name);
    const auto same = [&](const LayerEntry& other) {
      return other.kind == registration.kind && other.name == registration.name;
    };
    if (taken != nullptr)
      throw mistake(plugin.file,
                    "has a layer " + excerpt(title) + ", and there is one already (" + taken->origin + ").");
    if (std::any_of(entries.begin(), entries.end() - 1, same))
      throw mistake(plugin.file, "registers the layer " + excerpt(title) + " twice.");
  }
  return entries;
}

std::string being_loaded;

/// What a plugin's own static objects throw cannot be caught: one sentence, and the end.
[[noreturn]] void end_loading() {
  std::fprintf(stderr, "ridgeline: the plugin %s threw while it was loaded: %s.\n", being_loaded.c_str(),
               thrown_reason(200).c_str());
  std::_Exit(static_cast<int>(Exit::mistake));
}

/// Never unloaded: the code of its layers may be called until the program ends.
void open_library(const fs::path& file) {
  Registry::instance();  // what was announced until now is not the plugin's
  being_loaded = file.string();
  const std::terminate_handler former = std::set_terminate(end_loading);
  const void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::set_terminate(former);
  if (library == nullptr) throw mistake(file, loader_complaint(file));
}

/// A deck, and so a checkpoint, names the plugins of a run by their paths, with white space between them.
void check_path(const fs::path& file) {
  const std::string path = file.string();
  std::string what;
  if (path.find_first_of(" \t\r\n\v\f") != std::string::npos)
    what = "white space";
  else if (path.find('#') != std::string::npos)
    what = "a #";
  else if (excerpt(path, std::string::npos) != path)
    what = "characters that are no text";
  if (!what.empty())
    throw mistake(file, "has " + what + " in its path, so that no deck can name it; give it another path.");
}

void load(const Plugin& found) {
  const std::string title = "the plugin " + found.file.string();
  const ForeignCode code(title);
  open_library(found.file);
  Plugin plugin = found;
  std::vector<LayerEntry> entries = declared(plugin, Registry::take_announced());
  if (entries.empty()) throw mistake(plugin.file, "registers no layer.");
  for (LayerEntry& entry : entries) {
    plugin.layers.push_back(entry.kind + "/" + entry.name);
    Registry::instance().add(std::move(entry));
  }
  plugins().push_back(std::move(plugin));
}

bool is_loaded(const fs::path& file) {
  return std::any_of(plugins().begin(), plugins().end(), [&](const Plugin& plugin) { return plugin.file == file; });
}

fs::path found_at(const fs::path& file) {
  std::error_code error;
  fs::path path = fs::canonical(file, error);
  if (error) throw mistake(file, "cannot be found: " + error.message() + ".");
  return path;
}

/// The plugins in a folder, by name; the note is told of other files.
std::vector<fs::path> plugins_in(const fs::path& folder, const std::function<void(const std::string&)>& note) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) continue;
    bool is_plugin = false;
    try {
      is_plugin = note_text(entry->path(), read_text(entry->path())).has_value();
    } catch (const Error&) {
    }
    if (is_plugin)
      files.push_back(fs::canonical(entry->path()));
    else
      note("the plugin folder " + folder.string() + " holds " + entry->path().filename().string() +
           ", which is no plugin.");
  }
  if (error) throw mistake(folder, "cannot be read: " + error.message() + ".");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Plugin read_plugin(const fs::path& file) {
  const fs::path path = found_at(file);
  check_path(path);
  if (!fs::is_regular_file(path)) throw mistake(path, "is not a library.");
  const std::optional<std::string> note = note_text(path, read_text(path));
  if (!note) throw mistake(path, "is a library, but no plugin of Ridgeline: it was not built by ridgeline_add_plugin.");
  return plugin_of(path, *note);
}

void load_plugins(const std::vector<fs::path>& places, const std::function<void(const std::string&)>& note) {
  for (const fs::path& place : places) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(place, ignored);
    for (const fs::path& file : is_folder ? plugins_in(found_at(place), note) : std::vector{found_at(place)})
      if (!is_loaded(file)) load(read_plugin(file));
  }
}

std::vector<fs::path> plugin_path() {
  std::vector<fs::path> places;
  const char* const variable = std::getenv("RIDGELINE_PLUGIN_PATH");
  std::istringstream stream(variable != nullptr ? variable : "");
  for (std::string place; std::getline(stream, place, ':');)
    if (!place.empty()) places.emplace_back(place);
  return places;
}

const std::vector<Plugin>& loaded_plugins() { return plugins(); }

}  // namespace ridgeline
