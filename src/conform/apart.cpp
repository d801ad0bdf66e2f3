#include "conform/apart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/region.hpp"
#include "io/apart.hpp"
#include "io/temporary_folder.hpp"

namespace ridgeline::conform {
namespace {

using Send = std::function<void(const Message&)>;

int whole(const std::string& text) { return std::atoi(text.c_str()); }

Message packed(const Case& tried) {
  const Sizes& sizes = tried.sizes;
  Message message;
  for (const int size :
       {sizes.shape.batch, sizes.shape.tokens, sizes.inputs, sizes.outputs, static_cast<int>(tried.standard)})
    message.push_back(fmt::to_string(size));
  for (const auto& [key, value] : tried.layer.options) message.insert(message.end(), {key, value});
  return message;
}

/// What `packed` made of a case, from `at` on.
Case unpacked(const Message& message, std::size_t at, const LayerName& layer) {
  const auto size = [&](std::size_t i) { return whole(message.at(at + i)); };
  Case tried{{layer.kind, layer.name}, {{size(0), size(1)}, size(2), size(3)}, size(4) != 0};
  for (at += 5; at + 1 < message.size(); at += 2) tried.layer.options[message[at]] = message[at + 1];
  return tried;
}

Message after(Message head, const Message& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

/// The child's side.
class Sender final : public Follower {
 public:
  explicit Sender(Send send) : send_(std::move(send)) {}

  void making(const Case& tried) override { send_(after({"making"}, packed(tried))); }
  void listed(const Cases& cases) override {
    for (const Case& tried : cases.cases) send_(after({"case"}, packed(tried)));
    for (const std::string& refused : cases.refused) send_({"refused", refused});
    send_({"listed"});
  }
  void trying(const Check& check, std::size_t case_number) override {
    send_({"trying", check.name, fmt::to_string(case_number)});
  }
  void judged(const Outcome& outcome) override {
    const Finding& finding = outcome.finding;
    const Message head = {"judged",
                          fmt::to_string(static_cast<int>(finding.result)),
                          finding.text,
                          finding.number ? fmt::to_string(*finding.number) : "",
                          fmt::to_string(outcome.cases),
                          fmt::to_string(outcome.left_out)};
    send_(outcome.tried ? after(head, packed(*outcome.tried)) : head);
  }

 private:
  Send send_;
};

/// The parent's side: keeps the journal, and what the child is at.
class Listener {
 public:
  Listener(Journal& journal, const std::function<void(const std::string&)>& progress)
      : journal_(journal), progress_(progress) {}

  /// Throws nothing: what the child threw is thrown by `settle`.
  void hear(const Message& message) {
    const std::string& what = message.front();
    if (what == "making") {
      making_ = unpacked(message, 1, journal_.layer);
      progress_("making the layer, " + text(*making_));
    } else if (what == "case") {
      cases_.cases.push_back(unpacked(message, 1, journal_.layer));
    } else if (what == "refused") {
      cases_.refused.push_back(message.at(1));
    } else if (what == "listed") {
      journal_.cases = cases_;
      making_.reset();
    } else if (what == "trying") {
      trying_ = static_cast<std::size_t>(whole(message.at(2)));
      progress_(fmt::format("{}, case {} of {}", message.at(1), *trying_ + 1, journal_.cases->cases.size()));
    } else if (what == "judged") {
      judged(message);
    } else {
      thrown_.emplace(static_cast<Exit>(whole(message.at(1))), message.at(2));
    }
  }

  /// Makes a finding of how the child ended. Throws what it threw, and Error(Exit::numerical) where no layer was at work,
  /// unless all is judged and something failed: what it broke is why the child did not come to its end.
  void settle(const Ending& ending) {
    if (thrown_) throw Error(*thrown_);
    if (ending.returned) return;
    if (trying_) {
      journal_.outcomes.push_back({&checks()[journal_.outcomes.size()], failed(ending.text),
                                   journal_.cases->cases.at(*trying_), static_cast<int>(*trying_) + 1});
      if (ending.silent) leave_out();
    } else if (making_) {
      journal_.deadly.push_back(*making_);
    } else if (!found_wanting()) {
      throw Error(Exit::numerical, fmt::format("{}/{} could not be tried: {} before or after the checks.",
                                               journal_.layer.kind, journal_.layer.name, ending.text));
    }
  }

 private:
  /// Whether every check is judged, and one has failed.
  bool found_wanting() const {
    return journal_.outcomes.size() == checks().size() &&
           std::any_of(journal_.outcomes.begin(), journal_.outcomes.end(),
                       [](const Outcome& outcome) { return outcome.finding.result == Finding::Result::failed; });
  }

  void judged(const Message& message) {
    Outcome outcome{&checks().at(journal_.outcomes.size()), {}, std::nullopt};
    outcome.finding.result = static_cast<Finding::Result>(whole(message.at(1)));
    outcome.finding.text = message.at(2);
    outcome.cases = whole(message.at(4));
    outcome.left_out = whole(message.at(5));
    if (!message.at(3).empty()) outcome.finding.number = std::strtod(message.at(3).c_str(), nullptr);
    if (message.size() > 6) outcome.tried = unpacked(message, 6, journal_.layer);
    journal_.outcomes.push_back(outcome);
    trying_.reset();
  }

  /// What hangs once hangs again: nobody waits for that check after check.
  void leave_out() {
    const std::string why = fmt::format("not tried, as {} did not come back", journal_.outcomes.back().check->name);
    while (journal_.outcomes.size() < checks().size())
      journal_.outcomes.push_back({&checks()[journal_.outcomes.size()], not_applicable(why), std::nullopt});
  }

  Journal& journal_;
  const std::function<void(const std::string&)>& progress_;
  Cases cases_;
  std::optional<Case> making_;
  std::optional<std::size_t> trying_;
  std::optional<Error> thrown_;
};

void send_error(const Send& send, Exit status, const std::string& sentence) {
  send({"error", fmt::to_string(static_cast<int>(status)), sentence});
}

/// What is thrown here is not a layer's in a check: a mistake in the command, a layer that cannot be made.
void be_the_child(Journal& journal, const Send& send,
                  const std::function<void(const std::function<void()>&)>& surrounded) {
  try {
    surrounded([&] {
      Sender sender(send);
      go_on(journal, sender);
    });
  } catch (const Error& error) {
    send_error(send, error.status(), error.what());
  } catch (const std::bad_alloc&) {
    send_error(send, Exit::mistake, "there is not enough memory for the checks; a smaller layer needs less.");
  } catch (const std::exception& error) {
    send_error(send, Exit::numerical, std::string("an internal error, please report it: ") + error.what());
  }
}

}  // namespace

Conformance examine_apart(const LayerName& layer, const std::function<void(const std::function<void()>&)>& surrounded,
                          const std::function<void(const std::string&)>& progress, double seconds) {
  const double start = wall_time();
  check_subject(layer);
  Journal journal{layer};
  while (journal.outcomes.size() < checks().size()) {
    Listener listener(journal, progress);
    // What the child leaves among temporary files, when something ends it, is gone with it.
    std::optional<TemporaryFolder> folder(std::in_place);
    const Ending ending = work_apart(
        seconds,
        [&](const Send& send) {
          setenv("TMPDIR", folder->path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe): there is one thread yet
          be_the_child(journal, send, surrounded);
        },
        [&](const Message& message) { listener.hear(message); }, [&](int) { folder.reset(); });
    listener.settle(ending);
  }
  return {layer, std::move(journal.outcomes), std::move(journal.cases->refused), wall_time() - start};
}

}  // namespace ridgeline::conform
