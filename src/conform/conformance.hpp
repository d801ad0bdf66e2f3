// The conformance kit: every check on every case of a layer, and what it says of them.
#pragma once

#include <string>
#include <vector>

#include "conform/cases.hpp"

namespace ridgeline::conform {

/// What a check came to, over all cases.
struct Outcome {
  const Check* check;
  Finding finding;            ///< of the first case that fails; not applicable where it is in every case
  std::optional<Case> tried;  ///< that case
  int cases = 0;              ///< to which the check applied
  int left_out = 0;           ///< cases that were not tried, as those before took too long
};

/// No check begins another case after its first when so many seconds are over.
constexpr int seconds_for_a_check = 60;

struct Conformance {
  LayerName layer;
  std::vector<Outcome> outcomes;
  std::vector<std::string> refused;  ///< as Cases
  double seconds = 0;

  int count(Finding::Result result) const;
  bool conforms() const { return count(Finding::Result::failed) == 0; }
};

/// What an examination has come to: whoever takes it over goes on from there.
struct Journal {
  LayerName layer;
  std::vector<Case> deadly = {};       ///< as Making
  std::optional<Cases> cases = {};     ///< once they are known
  std::vector<Outcome> outcomes = {};  ///< of the first checks
  double seconds_for_a_check = conform::seconds_for_a_check;
};

/// Is told what comes next, and what it came to.
class Follower {
 public:
  Follower() = default;
  virtual ~Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  virtual void making(const Case&) {}
  virtual void listed(const Cases&) {}
  virtual void trying(const Check&, std::size_t /*case_number*/) {}
  virtual void judged(const Outcome&) {}
};

/// Throws Error(Exit::mistake) where there is no such layer, an option is wrong, or there are no checks for its kind.
void check_subject(const LayerName& layer);

/// Goes on to the end of an examination. Throws Error(Exit::mistake) where the layer cannot be made.
void go_on(Journal& journal, Follower& follower);

/// An examination from its beginning to its end. Throws as check_subject and go_on. What ends the process ends it.
Conformance examine(const LayerName& layer);

/// For people: a table, what failed in full, and a line that sums up. `words` end the commands that
/// reproduce: plugins, threads, what goes to Kokkos.
std::string report(const Conformance& conformance, const std::vector<std::string>& words);

/// For machines: {"layer": "KIND/NAME", "origin": …, "version": …, "options": {…}, "conforms": …, "seconds": …,
/// "passed": n, "failed": n, "not_applicable": n, "refused": […], "checks": [{"name": …, "purpose": …, "result":
/// "passed" | "failed" | "not applicable", "cases": n, "left_out": n, "text": …, "number": … or null, "shape":
/// {"batch": …, "tokens": …, "inputs": …, "outputs": …} or null, "options": {…} or null, "command": … or null}, …]},
/// with a line break at the end.
std::string report_json(const Conformance& conformance, const std::vector<std::string>& words);

/// For machines, of a layer that could not be tried at all: {"layer": "KIND/NAME", "conforms": false, "error": …}.
std::string error_json(const std::string& layer, const std::string& sentence);

}  // namespace ridgeline::conform
