#include "program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string path_variable() {
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "";
}

std::vector<std::string> environment_of(const Surroundings& surroundings) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  variables["OMP_NUM_THREADS"] = "1";
  variables["OMP_WAIT_POLICY"] = "passive";  // waiting threads leave their core to the other tests
  variables["PATH"] = surroundings.gnuplot ? path_variable() : "/nonexistent";
  for (const auto& [name, value] : surroundings.environment) variables[name] = value;
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

/// Sends a child its signals when their time has come.
class Interrupts {
 public:
  Interrupts(pid_t child, std::vector<Interrupt> list) : child_(child), list_(std::move(list)) {}

  bool left() const { return next_ < list_.size(); }
  Clock::time_point last() const { return last_; }

  void look(const std::string& out) {
    if (!left()) return;
    const Interrupt& interrupt = list_[next_];
    if (!is_timed_ && out.find(interrupt.after) != std::string::npos) {
      due_ = Clock::now() + std::chrono::milliseconds(interrupt.milliseconds);
      is_timed_ = true;
    }
    if (!is_timed_ || Clock::now() < due_) return;
    ::kill(child_, interrupt.signal);
    last_ = Clock::now();
    is_timed_ = false;
    ++next_;
  }

 private:
  pid_t child_;
  std::vector<Interrupt> list_;
  std::size_t next_ = 0;
  bool is_timed_ = false;  // when the next one is due is known
  Clock::time_point due_ = Clock::now();
  Clock::time_point last_ = Clock::now();
};

/// The two streams of a child, read until it closes both.
class Streams {
 public:
  /// Each is a terminal where that is wanted, else a pipe.
  Streams(bool output_terminal, bool error_terminal) {
    for (auto& pipe : pipes_)
      if (::pipe2(pipe.data(), O_CLOEXEC) != 0) std::abort();
    if (output_terminal) open_terminal(0);
    if (error_terminal) open_terminal(1);
  }
  ~Streams() {
    for (auto& pipe : pipes_) ::close(pipe[0]);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  int child_end(int stream) const { return pipes_[stream][1]; }
  void close_child_ends() {
    for (auto& pipe : pipes_) ::close(pipe[1]);
  }

  /// False where the time is up first.
  bool read_all(std::array<std::string, 2>& texts, Clock::time_point deadline, Interrupts& interrupts) {
    std::array<pollfd, 2> waiting = {{{pipes_[0][0], POLLIN, 0}, {pipes_[1][0], POLLIN, 0}}};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return false;
      interrupts.look(texts[0]);
      const auto patience = interrupts.left() ? std::min<std::int64_t>(left, 2) : left;
      if (::poll(waiting.data(), waiting.size(), static_cast<int>(patience)) < 0) continue;
      for (std::size_t i = 0; i < 2; ++i) {
        if (waiting[i].revents == 0) continue;
        char buffer[4096];
        const ssize_t count = ::read(waiting[i].fd, buffer, sizeof buffer);
        if (count > 0) texts[i].append(buffer, static_cast<std::size_t>(count));
        if (count <= 0) waiting[i].fd = -1;
      }
    }
    return true;
  }

 private:
  void open_terminal(int stream) {
    for (const int end : pipes_[stream]) ::close(end);
    const int own_end = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (::grantpt(own_end) != 0 || ::unlockpt(own_end) != 0) std::abort();
    pipes_[stream] = {own_end, ::open(::ptsname(own_end), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  }

  std::array<std::array<int, 2>, 2> pipes_{};
};

}  // namespace

Ended run_program(const Arguments& arguments, const Surroundings& surroundings) {
  std::vector<std::string> words = {RIDGELINE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of(surroundings);
  const std::vector<char*> argument_list = pointers_to(words), variable_list = pointers_to(variables);
  const std::string folder = surroundings.folder.string();
  Streams streams(surroundings.terminal, surroundings.error_terminal);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::dup2(streams.child_end(0), STDOUT_FILENO);
    ::dup2(streams.child_end(1), STDERR_FILENO);
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(126);
    if (surroundings.largest_file) {
      const rlimit limit = {*surroundings.largest_file, *surroundings.largest_file};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (surroundings.address_space) {
      const rlimit limit = {*surroundings.address_space, *surroundings.address_space};
      ::setrlimit(RLIMIT_AS, &limit);
    }
    ::execve(argument_list[0], argument_list.data(), variable_list.data());
    ::_exit(127);
  }
  streams.close_child_ends();
  std::array<std::string, 2> texts;
  Interrupts interrupts(child, surroundings.interrupts);
  const bool in_time = streams.read_all(texts, Clock::now() + std::chrono::seconds(surroundings.seconds), interrupts);
  if (!in_time) ::kill(-child, SIGKILL);
  int state = 0;
  rusage usage = {};
  ::wait4(child, &state, 0, &usage);
  Ended ended;
  ended.most_memory = 1024.0 * static_cast<double>(usage.ru_maxrss);
  ended.out = texts[0];
  ended.err = texts[1];
  ended.seconds = std::chrono::duration<double>(Clock::now() - interrupts.last()).count();
  if (WIFEXITED(state)) ended.status = WEXITSTATUS(state);
  EXPECT_TRUE(in_time) << "the program hung; it printed:\n" << ended.out << ended.err;
  const auto& sent = surroundings.interrupts;
  const bool expected = WIFSIGNALED(state) && std::any_of(sent.begin(), sent.end(), [&](const Interrupt& interrupt) {
                          return interrupt.signal == WTERMSIG(state);
                        });
  EXPECT_TRUE(WIFEXITED(state) || expected) << "signal " << WTERMSIG(state) << " ended the program; it printed:\n"
                                            << ended.out << ended.err;
  return ended;
}

bool gnuplot_is_there() {
  std::istringstream folders(path_variable());
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((fs::path(folder) / "gnuplot").c_str(), X_OK) == 0) return true;
  return false;
}

const char* const tiny_deck = R"([data]
functions = 10
x = -3 3 0.5
context = 3
[model]
width = 8
blocks = 1
[encoder.mlp]
layers = 1
[attention.functional]
heads = 2
basis = 3
[ffn.mlp]
hidden = 16
[train]
batch = 4
epochs = 2
learning_rate = 1e-3
[eval.id]
[eval.far]
x = -3 6 0.5
)";

Place::Place() { put("tiny.ini", tiny_deck); }

Ended Place::run(const Arguments& arguments) const { return run(arguments, {}); }

Ended Place::run(const Arguments& arguments, Surroundings surroundings) const {
  if (surroundings.folder.empty()) surroundings.folder = folder_.path();
  return run_program(arguments, surroundings);
}

fs::path Place::train(const std::string& output, const std::vector<std::string>& settings) const {
  const Ended ended = run(with_settings({"run", "tiny.ini", "-o", output}, settings));
  expect_success(ended);
  return folder_ / output;
}

fs::path Place::put(const std::string& name, const std::string& content) const {
  test::put(folder_ / name, content);
  return folder_ / name;
}

std::vector<std::string> Place::files() const { return files_below(folder_.path()); }

Arguments with_settings(Arguments arguments, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    arguments.emplace_back("--set");
    arguments.push_back(setting);
  }
  return arguments;
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) files.push_back(fs::relative(entry.path(), folder).string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string expect_sentence(const Ended& ended, int status) {
  EXPECT_EQ(ended.status, status) << ended.err;
  const std::string start = "ridgeline: ";
  EXPECT_EQ(ended.err.rfind(start, 0), 0U) << ended.err;
  EXPECT_EQ(lines_of(ended.err).size(), 1U) << ended.err;
  EXPECT_GE(ended.err.size(), start.size() + 2);
  const std::string end = ended.err.substr(std::max<std::size_t>(2, ended.err.size()) - 2);
  EXPECT_TRUE(end == ".\n" || end == "?\n") << ended.err;
  EXPECT_EQ(ended.err.find("internal error"), std::string::npos) << ended.err;
  return ended.err.substr(std::min(start.size(), ended.err.size()));
}

void expect_success(const Ended& ended) {
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace ridgeline::program
