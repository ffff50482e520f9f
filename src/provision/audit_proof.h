// pure: whether an audit log is what the door wrote: follows the chain over its lines, and names
// each that was changed, put elsewhere, doubled or taken out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/audit_chain.h"
#include "provision/audit_line.h"

namespace agentbox::provision {

/// A head that somebody knows from elsewhere than the log; 0 where only the hash is known.
struct KnownHead {
  std::uint64_t sequence = 0;
  std::string hash;
};
/// `HASH` or `SEQ:HASH`, as `status` shows it.
[[nodiscard]] Result<KnownHead> parse_known_head(std::string_view text);

/// What is wrong with a log, at the line whose number is LINE.
struct AuditFinding {
  std::string_view kind;  ///< changed, missing, repeated, misplaced, strange, restarted, head or
                          ///< empty
  std::uint64_t line = 0;
  std::string text;
};

/// What can be said of a whole log.
struct AuditVerdict {
  std::vector<AuditFinding> findings;  ///< at most kMaxFindings; none: nothing is wrong
  std::uint64_t more = 0;              ///< findings that had no room
  std::vector<std::string> remarks;    ///< what could not be proven, and why
  std::uint64_t lines = 0;
  std::uint64_t first = 0;  ///< the lowest number of a line; 0 where there is none
  AuditHead head;           ///< as the newest line has it
  bool tail_proven = false;

  [[nodiscard]] bool whole() const { return findings.empty(); }
};
inline constexpr std::size_t kMaxFindings = 100;

/// Takes what a log holds in its order; its memory does not grow with the log.
class AuditProof {
 public:
  explicit AuditProof(std::optional<KnownHead> known = {});

  /// TEXT is the line as it stands, without its newline.
  void take(const AuditLine& line, std::string_view text);
  /// A line that is no audit line: of the door's own log, which may share a stream with the audit,
  /// or a strange one.
  void take_other(std::string_view text);
  /// The log ends within a line.
  void take_cut() { cut_ = true; }
  void take_carriage_returns() { carriage_returns_ = true; }

  /// The number of the newest line so far.
  [[nodiscard]] std::uint64_t newest() const { return head_.sequence; }
  /// To be called once, after the last line.
  [[nodiscard]] AuditVerdict finish() &&;

 private:
  /// A line that was read lately.
  struct Read {
    std::uint64_t sequence;
    std::string stated;    ///< the hash it carries
    std::string computed;  ///< the hash it should carry
  };
  void find(std::string_view kind, std::uint64_t line, std::string text);
  void place(const AuditLine& line, const std::string& stated);
  void take_late(std::uint64_t sequence, const std::string& stated);
  [[nodiscard]] bool take_from_missing(std::uint64_t sequence);
  void add_missing(std::uint64_t from, std::uint64_t to, bool at_start);
  void tell_missing();
  void begin_anew(std::uint64_t after);
  void check_link(const AuditLine& line, std::string_view body, Read& read);
  void compare_told(const AuditHead& told, const std::string& words);
  void judge_head();
  [[nodiscard]] const Read* read_lately(std::uint64_t sequence) const;

  std::optional<KnownHead> known_;
  std::optional<std::uint64_t> known_at_;  ///< the line that carries the known head
  AuditHead head_;
  std::string one_;  ///< the hash that line 1 carries
  std::deque<Read> lately_;
  struct Gap {
    std::uint64_t to;
    bool at_start;  ///< a door started right after it
  };
  std::map<std::uint64_t, Gap> missing_;  ///< by the first number
  std::optional<AuditHead> promised_;     ///< told by the door's log, and not read yet
  std::uint64_t strange_ = 0;
  bool cut_ = false;
  bool carriage_returns_ = false;
  AuditVerdict verdict_;
};

}  // namespace agentbox::provision
