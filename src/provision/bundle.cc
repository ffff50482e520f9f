// edge: see bundle.h.
#include "provision/bundle.h"

#include <utility>

#include "base/ssh_key.h"
#include "provision/handoff.h"
#include "provision/keys.h"
#include "provision/local_file.h"
#include "provision/quote.h"

namespace agentbox::provision {
namespace {

constexpr unsigned kBundleMode = 0700;

// Run in a folder of its own, where both files have names without any character of meaning.
std::string script_head(const BoxView& view, bool holds_key) {
  return "#!/bin/sh\n"
         "# Opens an MCP session in the box " +
         view.record.name.text() +
         " on its standard input and output. It holds the box's host key" +
         (holds_key ? "\n# and a PRIVATE KEY: whoever can read this file can use the box.\n"
                    : " and nothing secret.\n#   THIS-FILE PRIVATE-KEY\n") +
         "set -eu\n"
         "umask 077\n"
         "folder=$(mktemp -d)\n"
         "trap 'rm -rf \"$folder\"' EXIT\n"
         "trap 'exit 143' HUP INT TERM\n"
         "cat > \"$folder/known_hosts\" <<'AGENTBOX'\n" +
         known_hosts_text(view.record.name.text(), view.record.host_key) + "AGENTBOX\n" +
         (view.ssh.gateway.kind == GatewayKind::kNone
              ? ""
              : "cat > \"$folder/gateway_known_hosts\" <<'AGENTBOX'\n" +
                    gateway_known_hosts(view.record.name.text(), view.ssh.gateway) + "AGENTBOX\n");
}

std::string key_from_argument() {
  return "case ${1-} in\n"
         "  '') echo \"usage: $0 PRIVATE-KEY\" >&2; exit 64 ;;\n"
         "  /*) ln -s \"$1\" \"$folder/identity\" ;;\n"
         "  *) ln -s \"$PWD/$1\" \"$folder/identity\" ;;\n"
         "esac\n";
}

std::string script_tail(const BoxView& view) {
  SshFacts facts = view.ssh;
  facts.identity_file = "identity";
  facts.known_hosts_file = "known_hosts";
  facts.gateway_known_hosts_file = "gateway_known_hosts";
  return "cd \"$folder\"\nstatus=0\n" + shell_line(ssh_command(facts)) +
         " || status=$?\nexit \"$status\"\n";
}

}  // namespace

Answer<Report> write_bundle(const BoxView& view, const std::string& file, bool with_identity) {
  SecretText key;
  if (with_identity) {
    if (view.record.identity_file.empty()) {
      return Failure{Exit::kRefused, "the private key of the box is not known here",
                     "leave out --with-identity; whoever has the key names it when it is used"};
    }
    AB_TRY(secret, advise(read_private_key(view.record.identity_file),
                          "put the private key back where it was"));
    key = std::move(secret);
  }
  AB_TRY(target, LocalTarget::open(file, kBundleMode));
  AB_CHECK(target.write(script_head(view, with_identity)));
  if (with_identity) {
    AB_CHECK(target.write("cat > \"$folder/identity\" <<'AGENTBOX'\n"));
    AB_CHECK(target.write(key.reveal()));
    AB_CHECK(target.write(key.reveal().ends_with('\n') ? "AGENTBOX\n" : "\nAGENTBOX\n"));
  } else {
    AB_CHECK(target.write(key_from_argument()));
  }
  AB_CHECK(target.write(script_tail(view)));
  AB_CHECK(target.finish());
  Report report;
  report.json["name"] = view.record.name.text();
  report.json["bundle"] = file;
  report.json["holds_private_key"] = with_identity;
  report.text =
      file + (with_identity ? " holds all that a client needs, the PRIVATE KEY too\n"
                            : " holds all that a client needs but its private key: " + file +
                                  " PRIVATE-KEY\n");
  report.printed = target.is_stream();
  return report;
}

}  // namespace agentbox::provision
