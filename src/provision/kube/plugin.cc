// edge: see plugin.h.
#include "provision/kube/plugin.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "base/deadline.h"
#include "base/process.h"
#include "base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace agentbox::provision::kube {
namespace {

/// The end of the program's standard error that an error repeats (bytes).
constexpr std::size_t kKeptErrorBytes = 600;

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> all;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& variable : variables) {
      replaced = replaced || variable.first == name;
    }
    if (!replaced) {
      all.emplace_back(entry);
    }
  }
  for (const auto& [name, value] : variables) {
    all.push_back(name + "=" + value);
  }
  return all;
}

// One of the program's two outputs.
struct Stream {
  UniqueFd fd;
  std::string text;

  // False where it has ended.
  bool take() {
    std::array<char, 4096> chunk{};
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return got > 0 || (got < 0 && errno == EINTR);
  }
};

// Reads both until the first has ended: a child that the program leaves behind may keep the second.
Status read_both(Stream& out, Stream& err, std::size_t max_bytes,
                 std::chrono::steady_clock::time_point deadline) {
  while (out.fd) {
    std::array<pollfd, 2> entries{{{out.fd.get(), POLLIN, 0}, {err.fd.get(), POLLIN, 0}}};
    const int ready = ::poll(entries.data(), entries.size(),
                             poll_timeout(deadline, std::chrono::steady_clock::now()));
    if (ready == 0) {
      return Error{Code::kTimeout, "did not answer in time and was ended"};
    }
    if (entries[1].revents != 0) {
      const std::size_t before = err.text.size();
      if (!err.take()) {
        err.fd.reset();
      }
      static_cast<void>(write_all(STDERR_FILENO, std::string_view(err.text).substr(before)));
      err.text.erase(0, err.text.size() - std::min(err.text.size(), kKeptErrorBytes));
    }
    if (entries[0].revents != 0 && !out.take()) {
      out.fd.reset();
    }
    if (out.text.size() > max_bytes) {
      return Error{Code::kLimit, "printed more than " + std::to_string(max_bytes) + " bytes"};
    }
  }
  return {};
}

}  // namespace

Result<std::string> run_plugin(const PluginRun& run, std::size_t max_bytes) {
  const std::string who = "the exec plugin " + escape_text(run.program, 300);
  AB_TRY(out_pipe, make_pipe());
  AB_TRY(err_pipe, make_pipe());
  SpawnPlan plan;
  plan.exe = run.program;
  plan.argv = run.argv;
  plan.environment = environment_with(run.variables);
  plan.working_folder = ".";
  plan.descriptors = {{1, out_pipe.second.get()}, {2, err_pipe.second.get()}};
  if (run.interactive) {
    plan.descriptors.push_back({0, STDIN_FILENO});
  }
  plan.new_session = !run.interactive;  // one that may ask keeps the terminal
  auto child = spawn(plan);
  if (!child.ok()) {
    return std::move(child).error().in(who);
  }
  out_pipe.second.reset();
  err_pipe.second.reset();
  Stream out{std::move(out_pipe.first), {}};
  Stream err{std::move(err_pipe.first), {}};
  const auto deadline = std::chrono::steady_clock::now() + run.time;
  Status read = read_both(out, err, max_bytes, deadline);
  if (read.ok() && !wait_readable(child->pidfd.get(), deadline)) {
    read = Error{Code::kTimeout, "did not end in time and was ended"};
  }
  ::kill(run.interactive ? child->pid : -child->pid, SIGKILL);
  AB_TRY(ended, wait_for(*child));
  const std::string said =
      err.text.empty() ? "" : "; it said: " + escape_text(err.text, 2 * kKeptErrorBytes);
  if (!read.ok()) {
    return Error{read.error().code, who + " " + read.error().what + said};
  }
  if (!ended.exited || ended.value != 0) {
    return Error{Code::kUnavailable, who + " failed (" + (ended.exited ? "exit code " : "signal ") +
                                         std::to_string(ended.value) + ")" + said};
  }
  return std::move(out.text);
}

}  // namespace agentbox::provision::kube
