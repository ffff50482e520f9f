// edge: see box.h.
#include "agentbox/box.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "agentbox/environment.h"
#include "agentbox/process_stat.h"
#include "agentbox/transaction.h"

namespace agentbox::mcp {

Result<std::unique_ptr<Box>> open_box(const Settings& settings, UniqueFd jobs) {
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return errno_error("become undumpable");
  }
  auto workspace = Workspace::open({.workspace = settings.workspace, .output = settings.out});
  if (!workspace.ok()) {
    return std::move(workspace).error().in("the workspace or the output folder is not usable");
  }
  auto box = std::make_unique<Box>();
  box->settings = settings;
  box->workspace = std::move(*workspace);
  box->environment = command_environment(settings);
  box->keep_folder = !settings.out.empty()   ? settings.out
                     : !settings.tmp.empty() ? settings.tmp
                                             : "/tmp";
  if (const std::string words = recover_changes(*box->workspace, box->keep_folder);
      !words.empty()) {
    static_cast<void>(std::fprintf(stderr, "agent-box: %s\n", words.c_str()));
  }
  const auto self = read_process_stat(::getpid());
  box->own_start = self ? self->start : 0;
  box->commands = std::make_unique<SessionCommands>();
  box->jobs = std::make_unique<JobClient>(std::move(jobs));
  return box;
}

}  // namespace agentbox::mcp
