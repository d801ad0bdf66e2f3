// The wish to stop before the work is done: a signal, or a time limit that nears.
#pragma once

#include <string>

namespace ridgeline {

/// From now on SIGINT, SIGTERM and SIGUSR1 (what queues send before they kill) ask to stop; a second SIGINT ends the
/// program at once.
void stop_on_signals();

/// From `moment` of wall_time() on there is the wish to stop, by `what`. Replaces an earlier moment.
void stop_at(double moment, const std::string& what);

/// Throws Error(Exit::stopped), "stopped by SIGTERM." or "stopped by the time limit of 1:00:00.", where there is the
/// wish: called wherever work may well be left. Who catches it knows what was saved, and says more.
void check_stop();

}  // namespace ridgeline
