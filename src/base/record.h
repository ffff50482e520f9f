// pure: the records that cross the wall and the door's inner walls: fixed layout, strict decoder.
//
// One record is one SOCK_SEQPACKET datagram: u8 layout version, u8 type, then the type's fields in
// the order they are declared, little-endian; a text is u16 length and that many bytes; a list is
// u16 count and its texts. Texts are printable ASCII (the sender escapes with escape_text()); a
// record with anything else, a byte too few or a byte too many is refused whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace agentbox::record {

/// A receiver's buffer; a longer datagram is refused.
inline constexpr std::size_t kMaxBytes = 8192;
/// One text; two of the longest still leave room for every other field of any record.
inline constexpr std::size_t kMaxTextBytes = 2048;
/// Items of a list (environment entries of one session).
inline constexpr std::size_t kMaxListItems = 64;
/// Raised whenever a field changes; both sides of a box come from one build, so others are refused.
inline constexpr std::uint8_t kLayout = 3;

/// How a process ended.
enum class End : std::uint8_t { kExited = 0, kSignalled = 1, kLost = 2 };

// Listener to monitor.
struct Accepted {  ///< a connection was admitted; the monitor answers Channel with one descriptor
  std::uint64_t ticket = 0;
  std::string peer;
};
struct TurnedAway {  ///< a connection was refused before any byte was read
  std::string peer;
  std::string reason;
};
struct Reaped {  ///< a network child ended
  std::uint64_t connection = 0;
  End how = End::kExited;
  std::int32_t status = 0;
};

struct Listening {          ///< the listener's first record
  std::string host_key;     ///< `TYPE BASE64`
  std::string fingerprint;  ///< of the host key
};
struct Forked {  ///< which process serves a connection
  std::uint64_t connection = 0;
  std::int32_t pid = 0;
};

// Monitor to listener.
struct Channel {  ///< carries the network child's end of its own record socket; without it: refused
  std::uint64_t ticket = 0;
  std::uint64_t connection = 0;
};

struct LoggedIn {  ///< the connection no longer counts as unauthenticated
  std::uint64_t connection = 0;
};
struct Kill {  ///< the network child did not end when it was told to
  std::uint64_t connection = 0;
};

// Network child to monitor.
struct AuthTried {
  bool accepted = false;
  bool final = false;  ///< a verified signature; false: a mere offer of a public key
  std::string user;
  std::string method;
  std::string algorithm;
  std::string key;  ///< SHA256:... fingerprint, empty where there is none
  std::string reason;
  /// Of a certificate, whose own KEY the field above then is: its CA's fingerprint, empty where
  /// there is no certificate, and what can lock it out after the login.
  std::string authority;
  std::uint64_t serial = 0;
  std::string key_id;         ///< escaped
  std::uint64_t expires = 0;  ///< Unix seconds
};
struct Requested {  ///< a channel or global request and what became of it
  std::uint32_t channel = 0;
  bool allowed = false;
  std::string kind;
  std::uint64_t words_bytes = 0;  ///< length of the client's own words (command, name, ...)
  std::string words_sha256;       ///< and their hash: the words themselves go nowhere
  std::string reason;
};
struct SessionWanted {  ///< answered by SessionGiven or SessionDenied
  std::uint32_t channel = 0;
};
struct Closing {  ///< the last record of a network child
  std::string reason;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};
struct Isolated {  ///< a network child's first record: what it held before it locked itself up
  std::vector<std::string> descriptors;  ///< `NUMBER WHAT` each
};

// Monitor to network child.
struct SessionGiven {  ///< carries two descriptors: the session's stdio, its log
  std::uint32_t channel = 0;
  std::string session;
};
struct SessionDenied {
  std::uint32_t channel = 0;
  std::string reason;
};
struct SessionOver {
  std::uint32_t channel = 0;
  End how = End::kExited;
  std::int32_t status = 0;
};
struct HangUp {  ///< close the connection now: its key is no longer authorised, or the door stops
  std::string reason;
};

// Monitor to spawner.
struct Start {  ///< carries three descriptors: the session's stdio, its log, its record socket
  std::string session;
  std::string role;
  std::string key;
  std::uint64_t generation = 0;
  std::vector<std::string> environment;  ///< escaped NAME=value entries
  std::string profile = "standard";      ///< of the tools that the key is offered
  std::string isolation = {};            ///< what M read of its own processes, for system_info
};
struct Drain {  ///< finish what runs, start nothing new
  std::uint32_t seconds = 0;
};
struct EndJobs {  ///< end every job that a session of this key started: it is no longer authorised
  std::string key;  ///< SHA256:... fingerprint
};

struct EndSession {  ///< its connection is long gone, and it has not ended by itself: kill it
  std::string session;
};

// Spawner to monitor.
struct Ready {  ///< the first record on the link
  std::string version;
};
struct Ended {
  std::string session;
  End how = End::kExited;
  std::int32_t status = 0;
};

// Session to monitor.
struct ToolCalled {  ///< sent before the call's reply, which waits for Recorded
  std::string tool;
  std::string outcome;  ///< ok, error, cancelled
  std::string code;     ///< the error's code, else empty
  std::string path;     ///< escaped, where the tool has one
  std::uint64_t duration_us = 0;
  std::uint64_t arguments_bytes = 0;
  std::string arguments_sha256;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  bool has_exit_code = false;
  std::int32_t exit_code = 0;
};

// Monitor to session.
struct Recorded {};  ///< the session's oldest ToolCalled without an answer is in the audit

// Session to spawner: jobs outlive sessions, so only the spawner can start them and find them.
struct JobWanted {   ///< a keeper for a new job; answered by JobGiven or JobRefused
  std::string name;  ///< unique among live jobs
};
struct JobSought {  ///< a line to the keeper of a live job; answered in the same way
  std::string id;
};
struct JobLineWanted {
};  ///< another line of this kind, for a program of the box; answered in the same way
struct JobDoomed {  ///< kill the keeper and all it guards: it does not answer
  std::string id;
};

// Spawner to session.
struct JobGiven {  ///< carries one descriptor: the line to the keeper, or to the spawner
  std::string id;  ///< of the job; empty where the line is to the spawner
};
struct JobRefused {
  std::string why;  ///< full, exists, unknown, busy, failed
  std::string id;   ///< of the job in the way, where there is one
};

// Spawner to keeper.
struct JobCaller {};  ///< carries one descriptor: the line of a session

// Session to keeper; each but JobAsked and JobInputOver is answered by JobDone.
struct JobLaunch {};  ///< the first one; carries the working folder, a file with the plan, and for
                      ///< a program of ours that starts jobs itself the line to the spawner
struct JobAsked {     ///< answered by JobState as soon as there is more than the asker knows
  bool at_once = false;
  std::uint64_t log_end = 0;
};
struct JobStop {  ///< the spawner may send it too
  std::uint32_t grace_ms = 0;
  std::string why;
};
struct JobSignal {
  std::int32_t number = 0;
  bool tree = false;  ///< else the leader alone
};
struct JobInput {  ///< carries one descriptor where bytes are not 0: a file that holds them
  std::uint64_t bytes = 0;
  bool close = false;  ///< the end of input follows
};
struct JobInputOver {};  ///< what is not written yet is given up; JobDone says how much was
struct JobResize {
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
};

// Keeper to session.
struct JobDone {
  std::int32_t error = 0;   ///< an errno; 0: done
  std::uint64_t count = 0;  ///< processes signalled, or bytes written
};
struct JobState {
  bool over = false;  ///< nothing of it runs any more; the record in its folder is final
  std::int32_t pid = 0;
  bool leader_ended = false;
  std::uint64_t live = 0;     ///< processes of it that run
  std::uint64_t log_end = 0;  ///< bytes written to its log so far
};

/// Everything that can cross; there is no other message.
using Record =
    std::variant<Accepted, TurnedAway, Reaped, Channel, AuthTried, Requested, SessionWanted,
                 Closing, SessionGiven, SessionDenied, SessionOver, HangUp, Start, Drain, Ready,
                 Ended, ToolCalled, Forked, LoggedIn, Kill, Listening, EndJobs, JobWanted,
                 JobSought, JobDoomed, JobGiven, JobRefused, JobCaller, JobLaunch, JobAsked,
                 JobStop, JobSignal, JobInput, JobInputOver, JobResize, JobDone, JobState, Recorded,
                 EndSession, Isolated, JobLineWanted>;

/// The datagram of RECORD. Code::kInvalid where a text is not printable ASCII or a bound is passed:
/// a sender's bug, never a receiver's surprise.
[[nodiscard]] Result<std::string> encode(const Record& record);

/// The record of DATAGRAM, or why it is none. Never reads past it, never allocates past its size.
[[nodiscard]] Result<Record> decode(std::string_view datagram);

}  // namespace agentbox::record
