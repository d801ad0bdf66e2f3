// A deck and what --set changes in it, read as `ridgeline check` reads them; no data is made. The input is the deck's
// text, then one text for --set after each byte 0x1e, which is a letter of no deck.
#include <optional>

#include "config/settings.hpp"
#include "driver/experiment.hpp"
#include "driver/session.hpp"
#include "support.hpp"

namespace {

using namespace ridgeline;

std::optional<Experiment> read(const std::string& path, const std::vector<std::string>& settings) {
  std::optional<Experiment> experiment;
  fuzz::reads([&] {
    std::vector<Override> overrides;
    for (const std::string& setting : settings) overrides.push_back(Override::parse(setting));
    experiment = read_experiment(Deck::read(path), overrides);
  });
  return experiment;
}

/// The memory that a run would take, without taking it.
template <class Scalar>
void measure(const Experiment& experiment) {
  fuzz::reads([&] {
    Model<Scalar> model(experiment.model);
    const MemoryNeed need = memory_need(experiment, model);
    fuzz::demand(need.total() > 0 && need.results > 0, "a run needs memory");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile deck;
  static const KokkosScope kokkos;
  std::vector<std::string> parts = fuzz::split(data, size, '\x1e');
  deck.put(parts.front());
  parts.erase(parts.begin());
  const std::optional<Experiment> experiment = read(deck.path().string(), parts);
  if (!experiment) return 0;
  deck.put(experiment->resolved);
  const std::optional<Experiment> again = read(deck.path().string(), {});
  fuzz::demand(again.has_value(), "a resolved deck is not read", experiment->resolved);
  fuzz::demand(again->resolved == experiment->resolved, "a resolved deck changes", experiment->resolved);
  if (experiment->model.attention.size() > 4) return 0;  // as many blocks take their time to make
  if (experiment->single_precision)
    measure<float>(*experiment);
  else
    measure<double>(*experiment);
  return 0;
}
