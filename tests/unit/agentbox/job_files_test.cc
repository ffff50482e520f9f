// edge: records, plans and logs of jobs: what is written is read back, what others wrote misleads
// nobody.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "agentbox/job_folder.h"
#include "agentbox/job_id.h"
#include "agentbox/job_log.h"
#include "agentbox/job_plan.h"
#include "agentbox/job_record.h"
#include "agentbox/memory_watch.h"
#include "agentbox/process_stat.h"
#include "base/random.h"
#include "support/catch.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

JobRecord sample(const std::string& id = std::string(32, 'a')) {
  JobRecord record;
  record.id = id;
  record.name = "web";
  record.command = "sleep 1";
  record.folder = "/workspace";
  record.pid = 7;
  record.started_ms = 1000;
  record.status = JobStatus::kExited;
  record.exit_code = 3;
  record.key = "SHA256:x";
  return record;
}

// A process that looks after a record: this one.
void look_after(JobRecord& record) {
  record.status = JobStatus::kRunning;
  record.keeper_pid = ::getpid();
  record.keeper_start = read_process_stat(::getpid())->start;
}

struct Folder {
  TemporaryFolder root;
  UniqueFd fd{::open(root.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  JobFolder jobs{fd.get()};

  void put(const JobRecord& record) const {
    const auto place = jobs.make(record.id);
    REQUIRE(place.ok());
    REQUIRE(write_job_record(place->get(), record).ok());
  }
};

std::string read_all(int folder, std::uint64_t at, std::size_t step) {
  std::string all;
  for (;;) {
    const auto part = read_log(folder, at + all.size(), step);
    REQUIRE(part.ok());
    if (part->bytes.empty()) {
      return all;
    }
    CHECK(part->at == at + all.size());
    all += part->bytes;
  }
}

}  // namespace

TEST_CASE("names and ids of jobs are told apart") {
  CHECK(is_job_id(random_hex(kJobIdBytes)));
  CHECK(is_job_name("web.dev-1_x"));
  for (const char* bad : {"", ".web", "-web", "a b", "a/b", "0123456789abcdef0123456789abcdef"}) {
    CHECK_FALSE(is_job_name(bad));
  }
  CHECK_FALSE(is_job_name(std::string(65, 'a')));
}

TEST_CASE("a plan comes back as it was, and none that was cut does") {
  JobPlan plan;
  plan.programs = {"/bin/sh", "/usr/bin/sh"};
  plan.argv = {"sh", "-c", "echo \xff"};
  plan.environment = {"A=b\nc"};
  plan.terminal = true;
  plan.columns = 120;
  plan.lifetime_seconds = 9;
  plan.restart = true;
  const std::string bytes = encode_plan(plan);
  const auto back = decode_plan(bytes);
  REQUIRE(back.ok());
  CHECK(back->argv == plan.argv);
  CHECK(back->environment == plan.environment);
  CHECK(back->columns == 120);
  CHECK(back->restart);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_plan(bytes.substr(0, size)).ok());
  }
  CHECK_FALSE(decode_plan(bytes + "x").ok());
  plan.argv = {std::string("a\0b", 3)};
  CHECK_FALSE(decode_plan(encode_plan(plan)).ok());
}

TEST_CASE("a record comes back as it was") {
  JobRecord record = sample();
  record.ended_by = "process_kill";
  record.log_lost = 5;
  const auto back = decode_job_record(encode_job_record(record));
  REQUIRE(back.ok());
  CHECK(back->status == JobStatus::kExited);
  CHECK(back->exit_code == 3);
  CHECK(back->ended_by == "process_kill");
  CHECK(back->log_lost == 5);
}

TEST_CASE("a record with a field missing, of another type or out of bounds is none") {
  const std::string good = encode_job_record(sample());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return decode_job_record(text.replace(at, from.size(), to)).ok();
  };
  CHECK(with("\"pid\":7", "\"pid\":8"));
  CHECK_FALSE(with("\"pid\":7", "\"pid\":\"7\""));
  CHECK_FALSE(with("\"pid\":7", "\"pid\":99999999999999999999"));
  CHECK_FALSE(with("\"exited\"", "\"done\""));
  CHECK_FALSE(with("\"web\"", "\"../web\""));
  CHECK_FALSE(with("\"restarts\":0", "\"restarts\":-1"));
  CHECK_FALSE(decode_job_record(std::string(kMaxJobRecordBytes + 1, ' ')).ok());
  CHECK_FALSE(decode_job_record("[]").ok());
}

TEST_CASE("a long command is cut between characters") {
  const std::string cut = cut_command(std::string(kMaxJobCommandBytes - 1, 'x') + "\xc3\xa9y");
  CHECK(cut == std::string(kMaxJobCommandBytes - 1, 'x') + "...");
}

TEST_CASE("a log is read from any byte across its pieces, and rotated it keeps the newest") {
  Folder folder;
  LogWriter log(folder.fd.get(), 1000, true);
  REQUIRE(log.open().ok());
  std::string all;
  for (int line = 0; all.size() < 1900; ++line) {
    const std::string text = std::to_string(line) + "\n";
    log.add(text);
    all += text;
  }
  CHECK(read_all(folder.fd.get(), 0, 333) == all);
  CHECK(read_all(folder.fd.get(), 995, 10) == all.substr(995));
  CHECK(file_content(folder.root.at("log")) == all.substr(1000));
  const std::string more(500, 'z');
  log.add(more);
  all += more;
  CHECK(log.end() == all.size());
  const auto part = read_log(folder.fd.get(), 0, 4096);
  REQUIRE(part.ok());
  CHECK(part->begin == 1000);
  CHECK(part->at == 1000);
  CHECK(part->end == all.size());
  CHECK(part->bytes == all.substr(1000));
  CHECK(mode_of(folder.root.at("log.1000")) == 0600);
}

TEST_CASE("a log that does not rotate keeps its start and counts what it lost") {
  Folder folder;
  LogWriter log(folder.fd.get(), 100, false);
  REQUIRE(log.open().ok());
  log.add(std::string(150, 'a'));
  log.add("b");
  CHECK(log.end() == 100);
  CHECK(log.lost() == 51);
  CHECK(read_all(folder.fd.get(), 0, 64) == std::string(100, 'a'));
}

TEST_CASE("what is no regular file of a log's is not read") {
  Folder folder;
  put_file(folder.root.at("secret"), "secret");
  REQUIRE(::symlink("secret", folder.root.at("log.0").c_str()) == 0);
  REQUIRE(::mkfifo(folder.root.at("log.6").c_str(), 0600) == 0);
  put_file(folder.root.at("log.07"), "x");
  put_file(folder.root.at("log.99999999999999999999999"), "x");
  const auto part = read_log(folder.fd.get(), 0, 4096);
  REQUIRE(part.ok());
  CHECK(part->bytes.empty());
  CHECK(part->end == 0);
}

TEST_CASE("records are listed newest first, and one that nobody looks after any more is lost") {
  Folder folder;
  JobRecord old = sample(std::string(32, 'a'));
  JobRecord live = sample(std::string(32, 'b'));
  live.started_ms = 2000;
  look_after(live);
  JobRecord orphan = live;
  orphan.id = std::string(32, 'c');
  orphan.started_ms = 3000;
  ++orphan.keeper_start;  // another process has that number now
  folder.put(old);
  folder.put(live);
  folder.put(orphan);
  const auto records = folder.jobs.list();
  REQUIRE(records.size() == 3);
  CHECK(records[0].status == JobStatus::kLost);
  CHECK(records[1].status == JobStatus::kRunning);
  CHECK(records[2].status == JobStatus::kExited);
  CHECK(folder.jobs.find(old.id)->exit_code == 3);
}

TEST_CASE("a record in another's folder, or behind a link, counts for nothing") {
  Folder folder;
  folder.put(sample());
  const std::string other(32, 'b');
  std::filesystem::copy(folder.root.at("jobs/" + std::string(32, 'a')),
                        folder.root.at("jobs/" + other));
  std::filesystem::create_directory_symlink(std::string(32, 'a'),
                                            folder.root.at("jobs/" + std::string(32, 'c')));
  CHECK(folder.jobs.list().size() == 1);
  CHECK_FALSE(folder.jobs.find(other));
  CHECK_FALSE(folder.jobs.find("../jobs"));
}

TEST_CASE("finished records beyond the number kept go, the oldest first; what runs stays") {
  Folder folder;
  JobRecord live = sample(std::string(32, 'f'));
  look_after(live);
  folder.put(live);
  std::string oldest;
  for (std::size_t i = 0; i < kMaxFinishedKept + 1; ++i) {
    JobRecord record = sample(random_hex(kJobIdBytes));
    record.ended_ms = 10'000 + static_cast<std::int64_t>(i);
    oldest = i == 0 ? record.id : oldest;
    folder.put(record);
  }
  const auto records = folder.jobs.list();
  CHECK(records.size() == kMaxFinishedKept + 1);
  CHECK_FALSE(folder.jobs.find(oldest));
  CHECK(folder.jobs.find(live.id));
}

TEST_CASE("a process is told from another with its number by its start, whatever it calls itself") {
  const auto stat = parse_process_stat(
      "42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 5 6 0 0 20 0 1 0 12345 1000000 250 184467");
  REQUIRE(stat);
  CHECK(stat->state == 'S');
  CHECK(stat->parent == 1);
  CHECK(stat->cpu_ticks == 11);
  CHECK(stat->start == 12345);
  CHECK(stat->rss_pages == 250);
  CHECK_FALSE(parse_process_stat("42 (a) S 1"));
  CHECK_FALSE(parse_process_stat(""));
  const auto self = read_process_stat(::getpid());
  REQUIRE(self);
  CHECK(is_same_process(::getpid(), self->start));
  CHECK_FALSE(is_same_process(::getpid(), self->start + 1));
  CHECK_FALSE(is_same_process(-1, 0));
}

TEST_CASE("near the memory limit the largest job has to end, and only there") {
  const std::vector<std::uint64_t> sizes{10, 700, 200};
  CHECK_FALSE(choose_job_to_end({.limit_bytes = 1000, .used_bytes = 899}, sizes));
  CHECK(choose_job_to_end({.limit_bytes = 1000, .used_bytes = 900}, sizes) == 1);
  CHECK_FALSE(choose_job_to_end({.limit_bytes = 1000, .used_bytes = 1000}, {}));
  const std::vector<std::uint64_t> nothing{0, 0};
  CHECK_FALSE(choose_job_to_end({.limit_bytes = 1000, .used_bytes = 1000}, nothing));
}
