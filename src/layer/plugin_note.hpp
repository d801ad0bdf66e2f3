// The note in a plugin's file that makes it a plugin of Ridgeline. One source of the plugin says RIDGELINE_PLUGIN; the CMake
// function ridgeline_add_plugin adds a source that does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <version>  // names the standard library

#include "layer/fingerprint.hpp"

namespace ridgeline {

/// An ELF note: the owner's name and a text, each filled up to four bytes.
template <std::size_t TextBytes>
struct PluginNote {
  std::uint32_t owner_bytes = 10;
  std::uint32_t text_bytes = TextBytes;
  std::uint32_t type = 1;
  char owner[12] = "Ridgeline";
  char text[(TextBytes + 3) / 4 * 4];
};

}  // namespace ridgeline

#define RIDGELINE_PLUGIN_TEXT(name, version) "plugin: " name "\nversion: " version "\n" RIDGELINE_FINGERPRINT

/// For a plugin's name and version, as text. In the file's memory image, so that no tool strips it.
#define RIDGELINE_PLUGIN(name, version)                                                                          \
  extern "C" {                                                                                                   \
  __attribute__((section(".note.ridgeline"), used,                                                               \
                 aligned(4))) extern const ::ridgeline::PluginNote<sizeof(RIDGELINE_PLUGIN_TEXT(name, version))> \
      ridgeline_plugin_note = {10, sizeof(RIDGELINE_PLUGIN_TEXT(name, version)), 1, "Ridgeline",                 \
                               RIDGELINE_PLUGIN_TEXT(name, version)};                                            \
  }
