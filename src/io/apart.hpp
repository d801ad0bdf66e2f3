// Work in a child process that says how far it has come: its parent outlives whatever ends it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ridgeline {

/// Texts, sent as one.
using Message = std::vector<std::string>;

struct Ending {
  bool returned = false;  ///< the work was done
  bool silent = false;    ///< nothing was heard for too long, and the child was ended
  std::string text = {};  ///< how else it ended, as a clause: "signal 11 (Segmentation fault) ended its process"
};

/// Lets a child process do `work`, and calls `heard` for each message that this sends, in their order. What the child
/// prints goes to standard error. It is ended where it sends nothing for so many `seconds`, and with this process.
/// `afterwards` is called when it is no more, with its number, also where a signal (SIGINT, SIGTERM, SIGHUP) then ends this
/// process. This process must not have run kernels: their threads are not the child's. Throws Error(Exit::file) where
/// there can be no child.
Ending work_apart(double seconds, const std::function<void(const std::function<void(const Message&)>& send)>& work,
                  const std::function<void(const Message&)>& heard, const std::function<void(int process)>& afterwards);

}  // namespace ridgeline
