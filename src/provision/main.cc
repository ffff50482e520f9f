// edge: agentbox-provision. What it can do is listed in cli.cc.
#include <signal.h>
#include <sys/stat.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "provision/run.h"

int main(int argc, char** argv) {
  ::umask(077);
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return agentbox::provision::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (
      const std::exception& problem) {  // the last net: memory, or a library that broke its word
    std::fprintf(stderr, "agentbox-provision: %s\n", problem.what());
    return 1;
  }
}
