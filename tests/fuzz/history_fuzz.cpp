// history.csv: what is read and can be written reads back as it was.
#include "io/files.hpp"
#include "io/history.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  static fuzz::MemoryFile file;
  static const fuzz::MemoryFolder folder;
  file.put({reinterpret_cast<const char*>(data), size});
  History history;
  if (!fuzz::reads([&] { history = History::read(file.path()); })) return 0;
  const std::filesystem::path first = folder.path() / "history.csv", second = folder.path() / "again.csv";
  if (!fuzz::reads([&] { history.write(first); })) return 0;  // the name of a set may hold what a column's may not
  History::read(first).write(second);
  fuzz::demand(read_text(first) == read_text(second), "a history changes when it is read and written");
  return 0;
}
