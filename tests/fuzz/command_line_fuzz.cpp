// The program's arguments, one a line of the input.
#include "config/command_line.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  const std::vector<std::string> arguments = fuzz::split(data, size, '\n');
  fuzz::reads([&] {
    const CommandLine line = parse_command_line(arguments);
    fuzz::demand(!help_text(line.command).empty(), "a command has no help", line.command);
  });
  return 0;
}
