// pure: where everything of a box lies, in one place.
#pragma once

#include <string>

#include "provision/name.h"

namespace agentbox::provision {

/// All paths of one box below STATE/boxes/NAME.
struct BoxPaths {
  std::string box;                  ///< STATE/boxes/NAME
  std::string record;               ///< box.json
  std::string identity;             ///< id_ed25519, where the key was made here
  std::string known_hosts;          ///< the pin
  std::string gateway_known_hosts;  ///< the pin of its gateway, where it has one
  std::string lock;                 ///< held by the command that changes the box
  std::string local;
  std::string supervisor_lock;  ///< held by the supervisor while it lives
  std::string supervisor_note;  ///< what it says about its children
  std::string programs;         ///< this box's own copies: a rebuild never reaches a running box
  std::string door;
  std::string host_key;
  std::string keys;
  std::string config;
  std::string door_state;  ///< highest key generation seen, audit head
  std::string door_own;    ///< what the door's user writes: the audit log
  std::string audit_log;   ///< a link to audit_log_real
  std::string audit_log_real;
  std::string door_log;
  std::string link;
  std::string socket;
  std::string box_side;
  std::string workspace;  ///< unless --workspace names another
  std::string home;
  std::string tmp;
  std::string out;
  std::string system_files;  ///< passwd and group as the box sees them
  std::string box_log;
};

[[nodiscard]] inline std::string boxes_folder(const std::string& state) { return state + "/boxes"; }

[[nodiscard]] inline BoxPaths paths_of(const std::string& state, const BoxName& name) {
  BoxPaths p;
  p.box = boxes_folder(state) + "/" + name.text();
  p.record = p.box + "/box.json";
  p.identity = p.box + "/id_ed25519";
  p.known_hosts = p.box + "/known_hosts";
  p.gateway_known_hosts = p.box + "/gateway_known_hosts";
  p.lock = p.box + "/lock";
  p.local = p.box + "/local";
  p.supervisor_lock = p.local + "/supervisor.lock";
  p.supervisor_note = p.local + "/supervisor.json";
  p.programs = p.local + "/programs";
  p.door = p.local + "/door";
  p.host_key = p.door + "/hostkey";
  p.keys = p.door + "/keys";
  p.config = p.door + "/etc/agentbox-sshd.yaml";
  p.door_state = p.door + "/state";
  p.door_own = p.door + "/own";
  p.audit_log = p.door + "/audit.log";
  p.audit_log_real = p.door_own + "/audit.log";
  p.door_log = p.door + "/door.log";
  p.link = p.local + "/link";
  p.socket = p.link + "/door.sock";
  p.box_side = p.local + "/box";
  p.workspace = p.box_side + "/workspace";
  p.home = p.box_side + "/home";
  p.tmp = p.box_side + "/tmp";
  p.out = p.box_side + "/out";
  p.system_files = p.local + "/etc";
  p.box_log = p.local + "/box.log";
  return p;
}

}  // namespace agentbox::provision
