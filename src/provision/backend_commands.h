// edge: the commands that boxes of both kinds know, and what they say.
#pragma once

#include "provision/backend.h"
#include "provision/command.h"
#include "provision/report.h"

namespace agentbox::provision {

/// One call for each command; to be inherited by whoever has more of them.
class BackendCommands {
 public:
  explicit BackendCommands(const Backend& backend) : any_(backend) {}

  Answer<Report> operator()(const Create& command) const;
  Answer<Report> operator()(const ShowStatus& command) const;
  Answer<Report> operator()(const List& command) const;
  Answer<Report> operator()(const Handoff& command) const;
  Answer<Report> operator()(const Suspend& command) const;
  Answer<Report> operator()(const Resume& command) const;
  Answer<Report> operator()(const Delete& command) const;
  Answer<Report> operator()(const Rotate& command) const;
  Answer<Report> operator()(const CaTrust& command) const;
  Answer<Report> operator()(const Revoke& command) const;
  Answer<Report> operator()(const Verify& command) const;
  Answer<Report> operator()(const Call& command) const;
  Answer<Report> operator()(const Logs& command) const;
  Answer<Report> operator()(const Pull& command) const;
  Answer<Report> operator()(const Push& command) const;

 private:
  const Backend& any_;
};

}  // namespace agentbox::provision
