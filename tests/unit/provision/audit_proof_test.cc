// pure: what is found in an audit log that is not as the door wrote it.
#include "provision/audit_proof.h"

#include <algorithm>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

// Lines as a door writes them.
class Log {
 public:
  void add(const std::string& event, const std::string& rest = {}) {
    std::string line = R"({"stream":"audit","time":"2026-11-30T06:31:00.123Z","seq":)" +
                       std::to_string(head.sequence + 1) + R"(,"event":")" + event + "\"" + rest +
                       "}";
    head = add_chain(head, line);
    lines.push_back(std::move(line));
  }
  void start() {
    add("listen", R"(,"before_seq":)" + std::to_string(head.sequence) + R"(,"before_sha256":")" +
                      head.hash + "\"");
  }
  std::string& line(std::size_t number) { return lines.at(number - 1); }
  void replace(std::size_t number, const std::string& what, const std::string& with) {
    std::string& text = line(number);
    text.replace(text.find(what), what.size(), with);
  }
  void erase(std::size_t number) {
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(number - 1));
  }
  // All lines from NUMBER on as a forger writes them who knows how the chain is made.
  void chain_anew() {
    AuditHead at;
    for (std::string& text : lines) {
      text = std::string(split_chain(text)->body) + "}";
      at = add_chain(at, text);
    }
  }
  [[nodiscard]] AuditVerdict verdict(std::optional<KnownHead> known = {}) const {
    AuditProof proof(std::move(known));
    for (const std::string& text : lines) {
      if (const auto parsed = parse_audit_line(text); parsed.ok()) {
        proof.take(*parsed, text);
      } else {
        proof.take_other(text);
      }
    }
    return std::move(proof).finish();
  }
  [[nodiscard]] AuditVerdict proven() const { return verdict(KnownHead{head.sequence, head.hash}); }

  std::vector<std::string> lines;
  AuditHead head;
};

// Two starts and ten lines.
Log sample() {
  Log log;
  log.start();
  for (const char* event : {"keys_loaded", "connect", "auth", "session_start", "tool_call"}) {
    log.add(event, R"(,"detail":"as it was")");
  }
  log.start();
  for (const char* event : {"keys_loaded", "connect", "auth"}) {
    log.add(event, R"(,"detail":"as it was")");
  }
  return log;
}

std::string only(const AuditVerdict& verdict) {
  REQUIRE(verdict.findings.size() == 1);
  return std::string(verdict.findings[0].kind) + " " + std::to_string(verdict.findings[0].line);
}

bool says(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("an untouched log is whole, and proven to its end by its head alone") {
  const Log log = sample();
  const AuditVerdict blind = log.verdict();
  CHECK(blind.whole());
  CHECK_FALSE(blind.tail_proven);
  CHECK(says(blind.remarks, "the tail after line 10 is unproven"));
  const AuditVerdict proven = log.proven();
  CHECK(proven.whole());
  CHECK(proven.tail_proven);
  CHECK(proven.remarks.empty());
  CHECK(proven.lines == 10);
  CHECK(proven.head == log.head);
  CHECK(log.verdict(KnownHead{0, log.head.hash}).tail_proven);
}

TEST_CASE("a line that was changed is named, and no other") {
  for (std::size_t number = 1; number <= 10; ++number) {
    CAPTURE(number);
    Log log = sample();
    log.replace(number, "06:31", "06:32");
    CHECK(only(log.proven()) == "changed " + std::to_string(number));
    Log chain = sample();
    std::string& text = chain.line(number);
    text[text.size() - 3] = text[text.size() - 3] == '0' ? '1' : '0';
    const AuditVerdict verdict = chain.verdict();
    REQUIRE_FALSE(verdict.whole());
    CHECK(verdict.findings.front().line == number);
  }
}

TEST_CASE("a line taken out is named, alone and with its neighbours") {
  for (std::size_t number = 2; number <= 9; ++number) {
    CAPTURE(number);
    Log log = sample();
    log.erase(number);
    CHECK(only(log.proven()) == "missing " + std::to_string(number));
  }
  Log log = sample();
  log.erase(4);
  log.erase(4);
  const AuditVerdict verdict = log.proven();
  CHECK(only(verdict) == "missing 4");
  CHECK(verdict.findings[0].text == "lines 4 to 5 are missing");
}

TEST_CASE("lines taken off the end are missed with a head, and without one nothing is claimed") {
  Log log = sample();
  log.erase(10);
  log.erase(9);
  CHECK(log.verdict().whole());
  CHECK(says(log.verdict().remarks, "the tail after line 8 is unproven"));
  const AuditVerdict verdict = log.proven();
  CHECK(verdict.findings.at(0).text.starts_with("lines 9 to 10 are missing at the end"));
  const AuditVerdict by_hash = log.verdict(KnownHead{0, log.head.hash});
  CHECK(only(by_hash) == "head 8");
  Log empty;
  CHECK(empty.verdict().whole());
  CHECK_FALSE(empty.verdict(KnownHead{10, log.head.hash}).whole());
}

TEST_CASE("two lines that changed places, and one put elsewhere, are named") {
  Log log = sample();
  std::swap(log.line(4), log.line(5));
  const AuditVerdict verdict = log.proven();
  CHECK(only(verdict) == "misplaced 4");
  CHECK(verdict.findings[0].text == "line 4 stands after line 5");
  Log first = sample();
  std::swap(first.line(1), first.line(2));
  CHECK(only(first.proven()) == "misplaced 1");
  Log moved = sample();
  moved.lines.push_back(moved.line(3));
  moved.erase(3);
  CHECK(only(moved.proven()) == "misplaced 3");
}

TEST_CASE("a line that stands there twice is named, near and far") {
  for (std::size_t number = 1; number <= 10; ++number) {
    CAPTURE(number);
    Log near = sample();
    near.lines.insert(near.lines.begin() + static_cast<std::ptrdiff_t>(number), near.line(number));
    CHECK(only(near.proven()) == "repeated " + std::to_string(number));
    Log far = sample();
    far.lines.push_back(far.line(number));
    CHECK(only(far.proven()) == "repeated " + std::to_string(number));
  }
}

TEST_CASE("a forged line without a right chain is named") {
  Log log = sample();
  log.lines.insert(
      log.lines.begin() + 4,
      R"({"stream":"audit","time":"2026-11-30T06:31:00.123Z","seq":5,"event":"auth"})");
  const AuditVerdict verdict = log.proven();
  REQUIRE_FALSE(verdict.whole());
  for (const AuditFinding& finding : verdict.findings) {
    CHECK(finding.line == 5);
  }
}

TEST_CASE("a log whose chain was made anew is found by the head alone") {
  Log log = sample();
  log.lines.pop_back();
  log.lines.pop_back();
  log.lines.pop_back();
  log.lines.pop_back();  // no start after the forged line that would tell the old head
  Log honest;
  honest.lines = log.lines;
  const auto last = split_chain(log.lines.back());
  const KnownHead head{6, std::string(last->hash)};
  CHECK(honest.verdict(head).whole());
  log.replace(4, "as it was", "otherwise");
  log.chain_anew();
  CHECK(log.verdict().whole());
  CHECK(only(log.verdict(head)) == "head 6");
  CHECK(only(log.verdict(KnownHead{0, head.hash})) == "head 6");
}

TEST_CASE("a start tells what was before it") {
  Log log = sample();
  log.replace(4, "as it was", "otherwise");
  log.chain_anew();
  CHECK(only(log.verdict()) == "changed 6");
}

TEST_CASE("a log goes on after the head that was told, and that part is not proven") {
  const Log log = sample();
  const auto third = split_chain(log.lines[2]);
  const AuditVerdict verdict = log.verdict(KnownHead{3, std::string(third->hash)});
  CHECK(verdict.whole());
  CHECK_FALSE(verdict.tail_proven);
  CHECK(says(verdict.remarks, "up to line 10, is unproven"));
}

TEST_CASE("where older files are gone the first line is said to be unproven") {
  Log log = sample();
  log.erase(1);
  log.erase(1);
  const AuditVerdict verdict = log.proven();
  CHECK(verdict.whole());
  CHECK(verdict.tail_proven);
  CHECK(says(verdict.remarks, "all before line 3 is unproven"));
  const AuditVerdict old = log.verdict(KnownHead{1, std::string(64, 'a')});
  CHECK(says(old.remarks, "older than all that is here"));
}

TEST_CASE("a line that a kill kept from being written is missing, and its start says so") {
  Log log = sample();
  log.erase(6);
  const AuditVerdict verdict = log.proven();
  CHECK(only(verdict) == "missing 6");
  CHECK(verdict.findings[0].text.find("killed") != std::string::npos);
}

TEST_CASE("a door without its state begins anew, and that is said") {
  Log log = sample();
  const Log second = sample();
  log.lines.insert(log.lines.end(), second.lines.begin(), second.lines.end());
  const AuditVerdict twice = log.verdict();  // the same lines again are no new beginning
  CHECK(twice.findings.size() == 10);
  CHECK(twice.findings[0].kind == "repeated");
  Log other;
  other.add("listen", R"(,"detail":"elsewhere")");
  other.add("connect");
  Log joined = sample();
  joined.lines.insert(joined.lines.end(), other.lines.begin(), other.lines.end());
  CHECK(only(joined.verdict()) == "restarted 1");
}

TEST_CASE(
    "the door's log in between is skipped, what it says of the head is held against the lines") {
  const std::string head_line =
      R"({"stream":"log","level":"info","message":"audit head","seq":"4","chain":")";
  Log log = sample();
  const std::string fourth(split_chain(log.line(4))->hash);
  log.lines.insert(log.lines.begin() + 4, head_line + fourth + "\"}");
  log.lines.insert(log.lines.begin(), R"({"stream":"log","message":"listening"})");
  CHECK(log.proven().whole());
  Log early = sample();
  early.lines.insert(early.lines.begin() + 2, head_line + fourth + "\"}");
  CHECK(early.proven().whole());
  Log wrong = sample();
  wrong.lines.insert(wrong.lines.begin() + 2, head_line + std::string(64, 'a') + "\"}");
  CHECK(only(wrong.proven()) == "changed 4");
  Log cut = sample();
  cut.lines.resize(3);
  cut.lines.push_back(head_line + fourth + "\"}");
  CHECK(only(cut.verdict()) == "missing 4");
}

TEST_CASE("lines of nobody are named by where they stand, and a text of them alone is no log") {
  Log log = sample();
  log.lines.insert(log.lines.begin() + 5, "a line of somebody else's");
  CHECK(only(log.proven()) == "strange 5");
  Log none;
  none.lines = {"dear diary", "{}", "[1]"};
  const AuditVerdict verdict = none.verdict();
  CHECK(only(verdict) == "strange 0");
  CHECK(verdict.findings[0].text.find("no audit log") != std::string::npos);
}

TEST_CASE("a log of nothing but holes costs no more memory than it may") {
  Log log = sample();
  AuditProof proof;
  for (std::uint64_t sequence = 1; sequence < 20'000; sequence += 2) {
    AuditLine line;
    line.sequence = sequence;
    line.event = "auth";
    proof.take(line, "{}");
  }
  const AuditVerdict verdict = std::move(proof).finish();
  CHECK(verdict.findings.size() == kMaxFindings);
  CHECK(verdict.more > 0);
}

TEST_CASE("a head is a hash, or a number and a hash") {
  const std::string hash(64, 'a');
  CHECK(parse_known_head(hash)->hash == hash);
  CHECK(parse_known_head("17:" + hash)->sequence == 17);
  for (const std::string& bad : {std::string(), std::string("17"), hash + "a", ":" + hash,
                                 "x:" + hash, "1:2:" + hash, std::string(64, 'A')}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_known_head(bad).ok());
  }
}
