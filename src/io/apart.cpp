#include "io/apart.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "core/error.hpp"
#include "io/child.hpp"

namespace ridgeline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<int, 3> ending_signals = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t asked_to_end = 0;

extern "C" void note_ending_signal(int signal) { asked_to_end = signal; }

/// Holds signals that end the process until `wait`, which notes them. Those that the process ignores stay ignored.
class HeldSignals {
 public:
  HeldSignals() {
    asked_to_end = 0;
    sigset_t held;
    sigemptyset(&held);
    struct sigaction noting = {};
    noting.sa_handler = note_ending_signal;
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      sigaction(ending_signals[i], nullptr, &former_[i]);
      if (former_[i].sa_handler == SIG_IGN) continue;
      sigaction(ending_signals[i], &noting, nullptr);
      sigaddset(&held, ending_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &held, &mask_);
  }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  void release() const {
    for (std::size_t i = 0; i < ending_signals.size(); ++i) sigaction(ending_signals[i], &former_[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

  /// Until the descriptor can be read, one of those signals came, or the time is over: whether it can be read. Other
  /// signals, which have handlers of their own, are no reason to return.
  bool wait(int descriptor, double seconds) const {
    using Seconds = std::chrono::duration<double>;
    pollfd polled = {descriptor, POLLIN, 0};
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
    for (;;) {
      const double left = std::max(Seconds(deadline - Clock::now()).count(), 0.0);
      const auto whole = static_cast<time_t>(left);
      const timespec time = {whole, static_cast<long>((left - static_cast<double>(whole)) * 1e9)};
      const int ready = ppoll(&polled, 1, &time, &mask_);
      if (ready >= 0 || errno != EINTR || asked_to_end != 0) return ready > 0;
    }
  }

 private:
  std::array<struct sigaction, ending_signals.size()> former_ = {};
  sigset_t mask_ = {};
};

/// A message on its way: the number of bytes that follow, then each text after its length.
std::string packed(const Message& message) {
  const auto number = [](std::uint64_t value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  std::string body;
  for (const std::string& text : message) body += number(text.size()) + text;
  return number(body.size()) + body;
}

/// Takes the first message out of what was read so far: whether there is a whole one.
bool unpack(std::string& bytes, Message& message) {
  const auto number = [&](std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  constexpr std::size_t head = sizeof(std::uint64_t);
  if (bytes.size() < head || bytes.size() - head < number(0)) return false;
  const std::size_t end = head + number(0);
  message.clear();
  for (std::size_t at = head; at < end; at += head + message.back().size())
    message.push_back(bytes.substr(at + head, number(at)));
  bytes.erase(0, end);
  return true;
}

void send_packed(int pipe, const Message& message) {
  const std::string bytes = packed(message);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = write(pipe, bytes.data() + sent, bytes.size() - sent);
    if (count < 0 && errno != EINTR) _exit(EXIT_FAILURE);  // nobody listens
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

/// Not the C library's exit, and no exception leaves it: what was loaded is the parent's to unload.
[[noreturn]] void be_the_child(int pipe,
                               const std::function<void(const std::function<void(const Message&)>&)>& work) noexcept {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  leave_no_core();
  dup2(STDERR_FILENO, STDOUT_FILENO);
  work([pipe](const Message& message) { send_packed(pipe, message); });
  send_packed(pipe, {});
  std::fflush(stdout);
  _exit(EXIT_SUCCESS);
}

std::string how_it_ended(int state) {
  if (!WIFSIGNALED(state)) return fmt::format("it ended the process with status {}", WEXITSTATUS(state));
  return fmt::format("signal {} ({}) ended its process", WTERMSIG(state), strsignal(WTERMSIG(state)));
}

/// Hears messages until the child has no more, is silent for too long, or a signal came.
Ending listen(int pipe, double seconds, const HeldSignals& signals, const std::function<void(const Message&)>& heard) {
  Ending ending;
  std::string bytes;
  for (;;) {
    if (!signals.wait(pipe, seconds)) {
      ending.silent = asked_to_end == 0;
      return ending;
    }
    std::array<char, 1 << 16> more;
    const ssize_t count = read(pipe, more.data(), more.size());
    if (count <= 0) return ending;
    bytes.append(more.data(), static_cast<std::size_t>(count));
    for (Message message; unpack(bytes, message);) {
      if (message.empty())
        ending.returned = true;
      else
        heard(message);
    }
  }
}

}  // namespace

Ending work_apart(double seconds, const std::function<void(const std::function<void(const Message&)>&)>& work,
                  const std::function<void(const Message&)>& heard,
                  const std::function<void(int process)>& afterwards) {
  int pipe[2];
  std::fflush(nullptr);
  const HeldSignals signals;
  const auto cannot = [](const char* what) {
    return Error(Exit::file, fmt::format("no {} can be made: {}.", what, std::strerror(errno)));
  };
  if (pipe2(pipe, O_CLOEXEC) != 0) throw cannot("pipe");
  const pid_t child = fork();
  if (child < 0) throw cannot("process");
  if (child == 0) {
    signals.release();
    close(pipe[0]);  // or writing to a parent that is no more would not fail
    be_the_child(pipe[1], work);
  }
  close(pipe[1]);
  Ending ending = listen(pipe[0], seconds, signals, heard);
  close(pipe[0]);
  if (ending.silent || asked_to_end != 0) kill(child, SIGKILL);
  const int state = wait_for(child, seconds);  // it may have closed its pipe and go on
  afterwards(child);
  if (asked_to_end != 0) {
    signals.release();
    raise(asked_to_end);
  }
  if (ending.silent && !(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL))
    ending.silent = false;  // it was gone before
  if (!ending.returned)
    ending.text = ending.silent ? fmt::format("it did not come back within {:g} s", seconds) : how_it_ended(state);
  return ending;
}

}  // namespace ridgeline
