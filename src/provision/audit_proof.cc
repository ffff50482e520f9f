// pure: see audit_proof.h.
#include "provision/audit_proof.h"

#include <algorithm>
#include <utility>

#include "base/defence.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

/// Lines that are put elsewhere are still held against the one before them within so many.
constexpr std::size_t kReadKept = 64;
/// Separate holes that are remembered; each is told in the end.
constexpr std::size_t kMaxGaps = 1000;
/// Longer lines are no log lines of the door's.
constexpr std::size_t kMaxOtherBytes = kMaxAuditLineBytes;

std::string line_words(std::uint64_t from, std::uint64_t to) {
  return from == to
             ? "line " + std::to_string(from) + " is missing"
             : "lines " + std::to_string(from) + " to " + std::to_string(to) + " are missing";
}

// What the door said of its head in its log: the text is a JSON object with "stream":"log".
std::optional<AuditHead> head_in_log(const Json& json) {
  const std::string* message = find_string(json, "message");
  const std::string* sequence = find_string(json, "seq");
  const std::string* hash = find_string(json, "chain");
  if (message == nullptr || *message != kHeadMessage || sequence == nullptr || hash == nullptr ||
      !is_chain_hash(*hash)) {
    return std::nullopt;
  }
  const auto number = parse_decimal(*sequence);
  return number.ok() ? std::optional(AuditHead{*number, *hash}) : std::nullopt;
}

}  // namespace

Result<KnownHead> parse_known_head(std::string_view text) {
  KnownHead head;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    const auto number = parse_decimal(text.substr(0, colon));
    if (!number.ok()) {
      return Error{Code::kInvalid, "not a head: what stands before the colon is no line's number"};
    }
    head.sequence = *number;
    text.remove_prefix(colon + 1);
  }
  if (!is_chain_hash(text)) {
    return Error{Code::kInvalid, "not a head: a hash is 64 small hexadecimal digits"};
  }
  head.hash = text;
  return head;
}

AuditProof::AuditProof(std::optional<KnownHead> known) : known_(std::move(known)) {
  if (known_ && known_->hash == head_.hash) {
    known_at_ = 0;  // of a door that had written nothing
  }
}

void AuditProof::find(std::string_view kind, std::uint64_t line, std::string text) {
  if (!defended("audit-chain")) {
    return;
  }
  if (verdict_.findings.size() < kMaxFindings) {
    verdict_.findings.push_back({kind, line, std::move(text)});
  } else {
    ++verdict_.more;
  }
}

const AuditProof::Read* AuditProof::read_lately(std::uint64_t sequence) const {
  const auto at = std::find_if(lately_.rbegin(), lately_.rend(),
                               [&](const Read& read) { return read.sequence == sequence; });
  return at == lately_.rend() ? nullptr : &*at;
}

void AuditProof::take(const AuditLine& line, std::string_view text) {
  const auto parts = split_chain(text);
  const std::string stated(parts ? parts->hash : std::string_view());
  place(line, stated);
  ++verdict_.lines;
  if (!parts) {
    find("changed", line.sequence,
         "line " + std::to_string(line.sequence) + " carries no chain: it was changed or forged");
  }
  Read read{line.sequence, stated, {}};
  check_link(line, parts ? parts->body : text, read);
  lately_.push_back(std::move(read));
  if (lately_.size() > kReadKept) {
    lately_.pop_front();
  }
  if (known_ && stated == known_->hash &&
      (known_->sequence == 0 || known_->sequence == line.sequence)) {
    known_at_ = line.sequence;
  }
  if (promised_ && promised_->sequence == line.sequence) {
    compare_told(*promised_, "the door's log");
    promised_.reset();
  }
}

// Where the line stands among the others, by its number.
void AuditProof::place(const AuditLine& line, const std::string& stated) {
  const std::uint64_t sequence = line.sequence;
  if (verdict_.lines == 0) {
    verdict_.first = sequence;
    one_ = sequence == 1 ? stated : std::string();
  } else if (sequence <= head_.sequence) {
    take_late(sequence, stated);
    if (head_.sequence >= sequence) {
      return;
    }
  } else if (sequence > head_.sequence + 1) {
    add_missing(head_.sequence + 1, sequence - 1,
                line.event == "listen" && find_member(line.json, "before_seq") != nullptr);
  }
  head_ = AuditHead{sequence, stated};
}

void AuditProof::take_late(std::uint64_t sequence, const std::string& stated) {
  const std::string number = std::to_string(sequence);
  const Read* twin = read_lately(sequence);
  if (take_from_missing(sequence) || sequence < verdict_.first) {
    verdict_.first = std::min(verdict_.first, sequence);
    find("misplaced", sequence,
         "line " + number + " stands after line " + std::to_string(lately_.back().sequence));
  } else if (sequence == 1 && stated != one_) {
    begin_anew(head_.sequence);
  } else if (twin != nullptr && twin->stated != stated) {
    find("repeated", sequence, "there are two different lines " + number + ": one is forged");
  } else {
    find("repeated", sequence, "line " + number + " stands there again");
  }
}

// A door without its state counts from 1: what it writes then is a chain of its own.
void AuditProof::begin_anew(std::uint64_t after) {
  find("restarted", 1,
       "after line " + std::to_string(after) +
           " the lines begin anew with 1: the door lost its state folder, or two logs were joined");
  tell_missing();
  lately_.clear();
  promised_.reset();
  head_ = AuditHead{};
}

void AuditProof::add_missing(std::uint64_t from, std::uint64_t to, bool at_start) {
  if (missing_.size() < kMaxGaps) {
    missing_[from] = Gap{to, at_start};
  } else {
    ++verdict_.more;
  }
}

bool AuditProof::take_from_missing(std::uint64_t sequence) {
  auto at = missing_.upper_bound(sequence);
  if (at == missing_.begin() || sequence > std::prev(at)->second.to) {
    return false;
  }
  --at;
  const std::uint64_t from = at->first;
  const Gap gap = at->second;
  missing_.erase(at);
  if (from < sequence) {
    missing_[from] = Gap{sequence - 1, gap.at_start};
  }
  if (sequence < gap.to) {
    missing_[sequence + 1] = gap;
  }
  return true;
}

void AuditProof::tell_missing() {
  for (const auto& [from, gap] : missing_) {
    find("missing", from,
         line_words(from, gap.to) +
             (gap.at_start ? " right before a start of the door: taken out, or never written "
                             "because the door was killed"
                           : ""));
  }
  missing_.clear();
}

void AuditProof::check_link(const AuditLine& line, std::string_view body, Read& read) {
  const std::string* told = find_string(line.json, "before_sha256");
  const auto* told_sequence = find_member(line.json, "before_seq");
  const bool starts = line.event == "listen" && told != nullptr && told_sequence != nullptr &&
                      told_sequence->is_number_unsigned();
  if (starts) {
    compare_told({told_sequence->get<std::uint64_t>(), *told},
                 "the door at its start in line " + std::to_string(line.sequence));
  }
  if (read.stated.empty()) {
    return;
  }
  std::vector<std::string> before;
  for (const Read& earlier : lately_) {
    if (earlier.sequence + 1 == line.sequence) {
      before.push_back(earlier.stated);
      before.push_back(earlier.computed);
    }
  }
  if (line.sequence == 1) {
    before.push_back(AuditHead{}.hash);
  } else if (before.empty() && starts && told_sequence->get<std::uint64_t>() + 1 == line.sequence) {
    before.push_back(*told);
  }
  for (const std::string& hash : before) {
    read.computed = hash.empty() ? read.computed : chain_hash(hash, body);
    if (read.computed == read.stated) {
      return;
    }
  }
  if (!before.empty()) {
    const std::string number = std::to_string(line.sequence);
    find("changed", line.sequence,
         "line " + number + " does not follow from the line before it: line " + number +
             " was changed" +
             (line.sequence == 1 ? std::string()
                                 : ", or line " + std::to_string(line.sequence - 1) +
                                       " was and its chain made anew"));
  }
}

// What WHO knows of a line that has been read lately.
void AuditProof::compare_told(const AuditHead& told, const std::string& words) {
  const Read* read = read_lately(told.sequence);
  if (read != nullptr && read->stated != told.hash) {
    find("changed", told.sequence,
         "line " + std::to_string(told.sequence) + " is not the one that " + words + " tells of");
  }
}

void AuditProof::take_other(std::string_view text) {
  if (text.size() <= kMaxOtherBytes) {
    if (const auto json = parse_json(text, JsonLimits{4, 1000, 1000}); json.ok()) {
      const std::string* stream = find_string(*json, "stream");
      if (stream != nullptr && *stream == "log") {
        if (const auto head = head_in_log(*json)) {
          compare_told(*head, "the door's log");
          if (head->sequence > head_.sequence) {
            promised_ = head;  // two streams: the log may be ahead
          }
        }
        return;
      }
    }
  }
  ++strange_;
  find("strange", head_.sequence,
       (verdict_.lines == 0 ? std::string("before the first line")
                            : "after line " + std::to_string(head_.sequence)) +
           " stands one that the door did not write");
}

void AuditProof::judge_head() {
  const std::string newest = std::to_string(head_.sequence);
  if (!known_) {
    verdict_.remarks.push_back("the tail after line " + newest +
                               " is unproven: lines taken off the end show only with --head");
    return;
  }
  if (known_at_ && *known_at_ >= head_.sequence) {
    verdict_.tail_proven = true;
  } else if (known_at_) {
    verdict_.remarks.push_back("the head that was told is line " + std::to_string(*known_at_) +
                               ": the tail after it, up to line " + newest + ", is unproven");
  } else if (known_->sequence > head_.sequence) {
    find("head", known_->sequence,
         line_words(head_.sequence + 1, known_->sequence) +
             " at the end: the head that was told is of line " + std::to_string(known_->sequence));
  } else if (known_->sequence != 0 && known_->sequence < verdict_.first) {
    verdict_.remarks.push_back("the head that was told is of line " +
                               std::to_string(known_->sequence) +
                               ", which is older than all that is here: nothing is proven by it");
  } else if (known_->sequence != 0) {
    find("head", known_->sequence,
         "line " + std::to_string(known_->sequence) +
             " is not the one whose head was told: it, or a line before it, was forged and the "
             "chain made anew");
  } else {
    find("head", head_.sequence,
         "no line here has the head that was told: lines are missing at the end, after line " +
             newest + ", or lines were forged and the chain made anew");
  }
}

AuditVerdict AuditProof::finish() && {
  tell_missing();
  if (verdict_.lines == 0 && strange_ > 0) {
    verdict_.findings.clear();
    verdict_.more = 0;
    find("strange", 0,
         "none of the " + std::to_string(strange_) + " lines is one of the door's: no audit log");
  }
  if (promised_ && promised_->sequence > head_.sequence) {
    find("missing", head_.sequence + 1,
         line_words(head_.sequence + 1, promised_->sequence) +
             " at the end: the door's log tells of line " + std::to_string(promised_->sequence));
  }
  if (verdict_.first > 1) {
    verdict_.remarks.push_back("all before line " + std::to_string(verdict_.first) +
                               " is unproven: it is the first line here, and whether it follows "
                               "from the one before it cannot be seen");
  }
  if (carriage_returns_) {
    verdict_.remarks.emplace_back("lines end in CR LF, which another program did");
  }
  if (cut_) {
    verdict_.remarks.emplace_back("the text ends within a line, which was not read");
  }
  judge_head();
  verdict_.head = head_;
  std::stable_sort(verdict_.findings.begin(), verdict_.findings.end(),
                   [](const AuditFinding& a, const AuditFinding& b) { return a.line < b.line; });
  return std::move(verdict_);
}

}  // namespace agentbox::provision
