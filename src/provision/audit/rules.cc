// pure: see rules.h.
#include "provision/audit/rules.h"

#include <array>

namespace agentbox::provision::audit {
namespace {

using enum RuleId;
using enum Severity;

constexpr std::array kRules = {
    Rule{kPolicyUnreadable, "AB001", Severity::kError, "the policy cannot be read",
         "Nothing that follows from the configuration can be told; the door would not start with "
         "it, or what answered is not the door.",
         "Run `agentbox-sshd --check` on the file named, and suspend and resume the box, which "
         "writes it anew.",
         "CWE-1188"},
    Rule{kKeysTrustAny, "AB002", Severity::kError,
         "whoever can write the key files decides who enters",
         "With keys_trust: any the door takes key files that other users can change, so the wall "
         "around them is gone.",
         "Set keys_trust: strict and give the key files to root.", "CWE-732"},
    Rule{
        kPassSecret, "AB003", Severity::kError,
        "a variable that looks like a secret goes into the box",
        "Every command of the agent can read it, and send it anywhere that the box reaches.",
        "Take the name out of pass_env; give the agent a credential of its own, made for this box.",
        "CWE-526"},
    Rule{kPassVariable, "AB004", Severity::kWarning, "a variable of the door's goes into the box",
         "Every command of the agent can read what the door was started with under this name.",
         "Take the name out of pass_env unless the agent needs it.", "CWE-526"},
    Rule{kListensWide, "AB005", Severity::kWarning, "a local box listens on more than this machine",
         "A local box is meant for clients on this machine; anybody who reaches the port can try "
         "keys, and limits for own addresses no longer help.",
         "Set listen.address to 127.0.0.1 or ::1, or use a box in a cluster.", "CWE-668"},
    Rule{kLooseLimit, "AB006", Severity::kWarning, "a limit is so wide that it limits nothing",
         "The limits keep one client from using up the door; past these values they no longer do.",
         "Set it back to the default, or to what was measured to be needed.", "CWE-770"},
    Rule{kGrantsRequest, "AB007", Severity::kError, "the policy grants what must be refused",
         "The door gives the tool server and nothing else; a terminal, a forward or a file "
         "transfer is a way round the tools and their audit.",
         "Use the released agentbox-sshd; this one has another policy.", "CWE-284"},
    Rule{kWeakAlgorithm, "AB008", Severity::kError, "a weak algorithm is offered",
         "Whoever can force it can read or change the connection.",
         "Use the released agentbox-sshd; this one offers another list.", "CWE-327"},
    Rule{kSanitizerBuild, "AB009", Severity::kWarning, "the door is a sanitizer build",
         "Its network child has no memory limit, and refused system calls fail instead of ending "
         "it. It is for tests.",
         "Install a release build and resume the box.", "CWE-489"},
    Rule{kLibraryFloor, "AB010", Severity::kError,
         "libssh is older than any the door was tried with",
         "Which holes it has is not known here, and its behaviour under the door was never tested.",
         "Install libssh 0.10.6 or newer.", "CWE-1395"},
    Rule{kLibraryHole, "AB011", Severity::kError, "libssh has a known hole",
         "The network child reads what strangers send through this library.",
         "Update the package (Debian 12: 0.10.6-0+deb12u3). Where the fix is in a package that is "
         "not known here, look at its changelog and set libssh_backports_acknowledged to its "
         "version.",
         "CWE-1395"},
    Rule{kStaleAcknowledgement, "AB012", Severity::kWarning,
         "the acknowledged fixes are of another libssh",
         "libssh_backports_acknowledged vouches for one version, and another one runs.",
         "Look at the changelog of the version that runs and set the option to it, or take it out.",
         "CWE-1395"},
    Rule{kNamedWeakening, "AB013", Severity::kError, "the door names a weakening of its own",
         "Its configuration or its build gives up something that it otherwise promises.",
         "Take the option back, or install a released build; `agentbox-sshd --check` says which it "
         "is.",
         "CWE-1188"},
    Rule{kAlteredConfig, "AB014", Severity::kError,
         "the door's configuration is not what was written for this box",
         "It says which user is the box, where the audit goes, which port and which keys count; "
         "somebody changed it by hand, or another version of agentbox-provision wrote it.",
         "Find out who changed it; `agentbox-provision suspend NAME` and `resume NAME` write it "
         "anew.",
         "CWE-15"},
    Rule{kBadKeyLine, "AB020", Severity::kWarning, "a line of authorized_keys counts for nothing",
         "Somebody meant to let a key in, or to limit one, and it has no effect.",
         "Correct the line, or `agentbox-provision rotate NAME`, which writes the file anew.",
         "CWE-1286"},
    Rule{kKeysRefused, "AB021", Severity::kError, "the key files are refused",
         "The door lets nobody in: it does not trust the files, or cannot read them.",
         "Close what the detail names (chmod go-w); `agentbox-provision suspend NAME` and `resume "
         "NAME` "
         "write the files anew.",
         "CWE-732"},
    Rule{kSharedKey, "AB022", Severity::kWarning, "a key opens more than one box",
         "One leak opens them all, and a revocation has to be done in each.",
         "Give each box a key of its own: `agentbox-provision rotate NAME`.", "CWE-653"},
    Rule{kShortKey, "AB023", Severity::kWarning, "an RSA key is shorter than 3072 bits",
         "2048 bits are no longer advised for keys that shall last beyond 2030.",
         "Use an ed25519 key: `agentbox-provision rotate NAME`.", "CWE-326"},
    Rule{kExpiredKey, "AB024", Severity::kWarning, "an expired key is still listed",
         "It is refused, but a change of the clock or of one option would let it in again.",
         "Take it away: `agentbox-provision revoke NAME --key SHA256:...`.", "CWE-298"},
    Rule{kOldKey, "AB025", Severity::kWarning, "a key has not been changed for a year",
         "The longer a key lives the more copies of it there are.",
         "`agentbox-provision rotate NAME`", "CWE-324"},
    Rule{kUnknownKey, "AB026", Severity::kError,
         "a key may enter that the box's record does not know",
         "Somebody else than agentbox-provision wrote it into the door's key file.",
         "Find out who wrote the file; `agentbox-provision rotate NAME` writes it anew.",
         "CWE-284"},
    Rule{kHostKey, "AB027", Severity::kError,
         "the host key is not the one that clients are pinned to",
         "Clients cannot enter, or learn to ignore the pin; whoever put it there may read what "
         "they send.",
         "Put the key back from a backup, or `revoke --evict`, which makes a new one and pins it.",
         "CWE-295"},
    Rule{kSharedHostKey, "AB028", Severity::kError, "two boxes have the same host key",
         "Each of them can pretend to be the other to its clients.",
         "`agentbox-provision revoke NAME --key ... --evict` makes a new host key; or create the "
         "copy anew.",
         "CWE-321"},
    Rule{
        kAlteredKeys, "AB029", Severity::kError,
        "what says who may enter is not what was written for this box",
        "A CA that was put there makes certificates for this box, a revocation that was taken out "
        "lets in who was locked out, and another name takes other boxes' certificates.",
        "Find out who wrote the file; `agentbox-provision suspend NAME` and `resume NAME` write it "
        "anew.",
        "CWE-284"},
    Rule{kOpenPlace, "AB030", Severity::kError, "a file or folder is open to others",
         "What lies there is what the wall protects: keys, the host key, the audit, the policy.",
         "Close it: chmod as the detail says. If others could read a private key, change that key "
         "too.",
         "CWE-732"},
    Rule{kForeignPlace, "AB031", Severity::kError, "a file or folder belongs to somebody else",
         "Its owner can change what lies there, whatever the mode says.",
         "Give it back: chown as the detail says.", "CWE-708"},
    Rule{kMissingPlace, "AB032", Severity::kWarning, "a file or folder is not there",
         "A part of the box is missing, or has been moved away.",
         "`agentbox-provision doctor NAME` says what to do.", "CWE-1188"},
    Rule{kOpenProgram, "AB033", Severity::kError,
         "a program of the box can be changed or read by others",
         "Whoever can write it becomes the door or the box; one that its user can read can be "
         "seized as it starts.",
         "chmod it as the detail says, or suspend and resume the box, which copies the programs "
         "anew; "
         "find out who changed it.",
         "CWE-732"},
    Rule{kOtherProgram, "AB034", Severity::kWarning, "the box does not run the installed program",
         "It is an older build, or something else under that name.",
         "`agentbox-provision suspend NAME` and `resume NAME` take the installed one; if it "
         "differs again, find out who writes there.",
         "CWE-494"},
    Rule{kUnusablePlace, "AB035", Severity::kError,
         "a file or folder is closed to the side that needs it",
         "The door lets nobody in, or the box does not start the next time.",
         "Open it as far as the detail says.", "CWE-280"},
    Rule{kAlteredPin, "AB036", Severity::kError,
         "known_hosts is not the pin of the box and nothing else",
         "A client that reads it believes another host key too, or none.",
         "`agentbox-provision suspend NAME` and `resume NAME` write it anew.", "CWE-295"},
    Rule{kNoIsolation, "AB040", Severity::kError, "the box has no wall",
         "It was made with --no-isolation: commands of the agent do all that the box's user can on "
         "this machine.",
         "Make the box anew without --no-isolation.", "CWE-653"},
    Rule{kNoReading, "AB041", Severity::kWarning,
         "the door has not told how its processes are isolated",
         "What is really in force is not known: the door writes it when it starts and when the "
         "first client connects.",
         "Connect once, or `audit --live`; if it stays so, see `agentbox-provision logs NAME`.",
         "CWE-778"},
    Rule{kRights, "AB042", Severity::kError, "a process has rights that it must not have",
         "A hole in it would give these rights to whoever uses it.",
         "Start the box as the users that quickstart makes; see `agentbox-provision doctor NAME`.",
         "CWE-250"},
    Rule{kUnlocked, "AB043", Severity::kError, "a network child is not locked up",
         "It reads what strangers send; without the system call filter a hole in it reaches files "
         "and programs.",
         "Use the released agentbox-sshd on a kernel with seccomp.", "CWE-693"},
    Rule{kForeignDescriptor, "AB044", Severity::kError,
         "a network child holds more than its own connection",
         "A hole in it reaches whatever it holds: another client, the port, a file.",
         "Use the released agentbox-sshd; report this.", "CWE-403"},
    Rule{kInspectable, "AB045", Severity::kError, "a process of the door can be inspected",
         "Another process of the same user can read its memory, the host key in it.",
         "Use the released agentbox-sshd; see whether something set it dumpable again.", "CWE-668"},
    Rule{kSharedUser, "AB046", Severity::kError, "door and box are one user",
         "Code in the box may signal the door and open its files.",
         "Start the box as root with the users that quickstart makes.", "CWE-653"},
    Rule{
        kSharedNamespace, "AB047", Severity::kError, "door and box share a namespace",
        "The wall between them has a hole: one sees the processes, files or channels of the other.",
        "Suspend the box; `agentbox-provision doctor NAME` says whether bubblewrap works here.",
        "CWE-653"},
    Rule{kReadingDiffers, "AB048", Severity::kWarning,
         "the door tells another thing of its processes than the kernel",
         "Its own reading is old, or it does not say the truth.",
         "Suspend and resume the box and audit again; if it stays so, do not trust this door.",
         "CWE-345"},
    Rule{
        kTrialGranted, "AB050", Severity::kError, "the live door granted what must be refused",
        "It was tried just now over SSH, and it worked.",
        "Suspend the box: whoever holds its key has this too. Then use the released agentbox-sshd.",
        "CWE-284"},
    Rule{kTrialFailed, "AB051", Severity::kWarning, "refusals could not be tried",
         "What the live door does with these requests is not known.",
         "See the detail; then audit again with --live.", "CWE-1059"},
    Rule{kWallOpen, "AB052", Severity::kError, "the box sees what lies behind the wall",
         "What the agent's commands can see they can take along.",
         "Suspend the box: its wall does not hold.", "CWE-668"},
    Rule{kAuditLog, "AB060", Severity::kError, "the audit log is not whole",
         "Lines are missing or were changed: what happened cannot be told any more.",
         "Find out who can write it; `agentbox-provision audit-log show --box NAME` says where it "
         "breaks.",
         "CWE-117"},
    Rule{kTokenInPod, "AB070", Severity::kError, "a service account's token is in the box's pod",
         "Code in the box can speak to the cluster's API with it.",
         "Set automountServiceAccountToken: false and take such volumes out; find out who put them "
         "there.",
         "CWE-522"},
    Rule{kNoPolicy, "AB071", Severity::kError, "no network policy restricts the box",
         "Code in the box reaches the network, and the network reaches every port of the pod.",
         "Run the create again that made the box: it puts the policy back.", "CWE-284"},
    Rule{kOredPeers, "AB072", Severity::kError,
         "a network policy's selectors are alternatives where both were meant",
         "As two items of a list either one does: every pod of that namespace may connect, and "
         "pods of that label from this one.",
         "Write namespaceSelector and podSelector into one item of `from`.", "CWE-697"},
    Rule{kWeakPipe, "AB073", Severity::kError, "a Pipe of the gateway is weak",
         "Whoever comes in by it, or stands between, gets more than one box's key is for.",
         "Make the box anew with --gateway, which pins everything, or have that Pipe changed.",
         "CWE-287"},
    Rule{kLooseImage, "AB074", Severity::kWarning, "an image is named by a tag",
         "Whoever can push to the registry changes what the box's next start runs.",
         "Name it by its digest: IMAGE@sha256:...", "CWE-1357"},
    Rule{kAlteredPod, "AB075", Severity::kError, "the pod is not what its Sandbox says",
         "Somebody put into it, or changed, what nobody asked for.",
         "Suspend the box; find out which admission webhook changes pods.", "CWE-345"},
    Rule{kUnseen, "AB076", Severity::kWarning, "a part of the namespace could not be looked at",
         "What is weak there is not in this report.",
         "Give this account the rights that `agentbox-provision rbac audit` prints.", "CWE-1059"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].id) != i) {
      return false;
    }
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case kWarning:
      return "warning";
    case kError:
      return "error";
  }
  return "error";
}

std::span<const Rule> all_rules() { return kRules; }

const Rule& rule_of(RuleId id) { return kRules[static_cast<std::size_t>(id)]; }

}  // namespace agentbox::provision::audit
