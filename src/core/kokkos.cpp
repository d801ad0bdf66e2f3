#include "core/kokkos.hpp"

#include <cstdlib>

#if KOKKOS_VERSION >= 40000
#include <impl/Kokkos_Command_Line_Parsing.hpp>
#include <regex>
#endif

#include "core/error.hpp"

namespace ridgeline {
namespace {

/// Kokkos' OpenMP back end has room for 512 threads and does not look.
void check_threads(const std::vector<std::string>& options) {
  const auto check = [](const std::string& name, const std::string& value) {
    char* end = nullptr;
    const long threads = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || threads < 1 || threads > 512)
      throw Error(Exit::mistake, name + "=" + value + " is no number of threads; it takes 1 to 512.");
  };
  for (const std::string& option : options)
    for (const std::string name : {"--kokkos-threads", "--kokkos-num-threads"})
      if (option.rfind(name + "=", 0) == 0) check(name, option.substr(name.size() + 1));
  if (const char* variable = std::getenv("KOKKOS_NUM_THREADS")) check("KOKKOS_NUM_THREADS", variable);
}

}  // namespace

void start_kokkos(std::vector<std::string> options, int threads) {
#if KOKKOS_VERSION >= 40000
  // What Kokkos does not know is told below, in one sentence.
  Kokkos::Impl::do_not_warn_not_recognized_command_line_argument(std::regex("--kokkos-.*"));
#endif
#if KOKKOS_VERSION >= 30700
  const std::string threads_option = "--kokkos-num-threads=";
#else
  const std::string threads_option = "--kokkos-threads=";
#endif
  check_threads(options);
  options.insert(options.begin(), {"ridgeline", "--kokkos-disable-warnings"});
  if (threads > 0) options.push_back(threads_option + std::to_string(threads));
  std::vector<char*> arguments;
  for (std::string& option : options) arguments.push_back(option.data());
  int count = static_cast<int>(arguments.size());
  try {
    Kokkos::initialize(count, arguments.data());
  } catch (const std::exception& error) {
    std::string given;
    for (std::size_t i = 2; i < options.size(); ++i) given += (i > 2 ? " " : "") + options[i];
    if (!host_reads_memory) {  // most often there is no such device
      const std::string reason = error.what();
      throw Error(Exit::mistake, std::string("Kokkos does not start on ") + Execution::name() +
                                     (given.empty() ? "" : " with its options " + given) + ": " +
                                     reason.substr(0, reason.find('\n')) + ".");
    }
    throw Error(Exit::mistake, "Kokkos cannot start with " + (given.empty() ? "" : given + " and ") +
                                   "what the variables KOKKOS_… and OMP_… in the environment say.");
  }
  if (count <= 1) return;  // what Kokkos knows it took away
  const std::string unknown = arguments[1];
  Kokkos::finalize();
  throw Error(Exit::mistake, unknown + " is not an option of Kokkos.");
}

}  // namespace ridgeline
