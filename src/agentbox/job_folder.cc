// edge: see job_folder.h.
#include "agentbox/job_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "agentbox/job_id.h"
#include "agentbox/job_log.h"
#include "agentbox/leftovers.h"
#include "agentbox/private_folder.h"
#include "agentbox/process_stat.h"

namespace agentbox::mcp {
namespace {

constexpr const char* kRecordName = "record.json";
constexpr const char* kNewRecordName = ".record.json.new";
// Folders looked at; more are not of our making.
constexpr std::size_t kMaxFolders = 4096;
// A folder without a record is one in the making for this long.
constexpr std::int64_t kMakingMs = 60'000;

std::vector<std::string> list_ids(int jobs) {
  std::vector<std::string> ids = list_names(jobs, kMaxFolders);
  std::erase_if(ids, [](const std::string& name) { return !is_job_id(name); });
  return ids;
}

UniqueFd open_folder_at(int parent, const char* name) {
  return UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Result<JobRecord> read_record(int folder) {
  const UniqueFd file(
      ::openat(folder, kRecordName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{Code::kNotFound, "there is no record"};
  }
  AB_TRY(text, read_fd_capped(file.get(), kMaxJobRecordBytes));
  AB_TRY(record, decode_job_record(text));
  if (record.status == JobStatus::kRunning &&
      !is_same_process(record.keeper_pid, record.keeper_start)) {
    record.status = JobStatus::kLost;
  }
  return record;
}

std::optional<JobRecord> read_record_of(int jobs, const std::string& id) {
  const UniqueFd folder = open_folder_at(jobs, id.c_str());
  if (!folder.valid()) {
    return std::nullopt;
  }
  auto record = read_record(folder.get());
  // A record that was copied here would make two of one.
  return record.ok() && record->id == id ? std::optional(std::move(*record)) : std::nullopt;
}

// What one finished process holds, or a folder that is nobody's.
struct Removable {
  std::string id;
  JobKind kind = JobKind::kCommand;
  std::int64_t age = 0;  // when it ended, or was made
  std::uint64_t bytes = 0;
};

// Of a host nothing is asked for once it has ended; what it complained of is worth a look.
std::size_t kept(JobKind kind) {
  constexpr std::size_t kHostsKept = 4;
  return kind == JobKind::kContext || kind == JobKind::kWatch ? kHostsKept : kMaxFinishedKept;
}

std::uint64_t bytes_in(int folder) {
  const auto part = read_log(folder, 0, 0);
  return part.ok() ? part->end - part->begin : 0;
}

void remove_job(int jobs, const std::string& id) {
  {
    const UniqueFd folder = open_folder_at(jobs, id.c_str());
    (void)empty_folder(folder.get());
  }
  (void)::unlinkat(jobs, id.c_str(), AT_REMOVEDIR);
}

// In one step: a reader sees the old one or this.
Status replace_record(int folder, const std::string& text) {
  (void)::unlinkat(folder, kNewRecordName, 0);
  const UniqueFd file(
      ::openat(folder, kNewRecordName, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return errno_error("make the record");
  }
  Status written = write_all(file.get(), text);
  if (written.ok() && ::renameat(folder, kNewRecordName, folder, kRecordName) != 0) {
    written = errno_error("place the record");
  }
  if (!written.ok()) {
    (void)::unlinkat(folder, kNewRecordName, 0);
  }
  return written;
}

// Where the disk has no room for a second one: how a job ended must be kept all the same.
Status overwrite_record(int folder, const std::string& text) {
  const UniqueFd file(
      ::openat(folder, kRecordName, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) {
    return errno_error("open the record");
  }
  AB_CHECK(write_all(file.get(), text));
  return ::ftruncate(file.get(), static_cast<off_t>(text.size())) == 0
             ? Status()
             : errno_error("shorten the record");
}

}  // namespace

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

UniqueFd JobFolder::open_jobs() const {
  (void)::mkdirat(out_, kJobsFolderName, 0700);
  return open_folder_at(out_, kJobsFolderName);
}

Result<UniqueFd> JobFolder::make(const std::string& id) const {
  if (!is_there()) {
    return Error{Code::kNotFound, "there is no output folder"};
  }
  prune();
  const UniqueFd jobs = open_jobs();
  if (!jobs.valid() || ::mkdirat(jobs.get(), id.c_str(), 0700) != 0) {
    return errno_error("make a folder for the output");
  }
  UniqueFd folder = open_folder_at(jobs.get(), id.c_str());
  if (!folder.valid()) {
    return errno_error("open the folder for the output");
  }
  return folder;
}

void JobFolder::remove(const std::string& id) const {
  if (is_there() && is_job_id(id)) {
    remove_job(open_jobs().get(), id);
  }
}

Result<UniqueFd> JobFolder::open(const std::string& id) const {
  const UniqueFd jobs = is_there() && is_job_id(id) ? open_jobs() : UniqueFd();
  UniqueFd folder = jobs.valid() ? open_folder_at(jobs.get(), id.c_str()) : UniqueFd();
  if (!folder.valid()) {
    return Error{Code::kNotFound, "there is no folder of " + id};
  }
  return folder;
}

std::vector<JobRecord> JobFolder::list() const {
  std::vector<JobRecord> records;
  const UniqueFd jobs = is_there() ? open_jobs() : UniqueFd();
  for (const std::string& id : list_ids(jobs.get())) {
    if (auto record = read_record_of(jobs.get(), id)) {
      records.push_back(std::move(*record));
    }
  }
  std::stable_sort(records.begin(), records.end(), [](const JobRecord& a, const JobRecord& b) {
    return std::pair(a.started_ms, a.id) > std::pair(b.started_ms, b.id);
  });
  return records;
}

std::optional<JobRecord> JobFolder::find(const std::string& id) const {
  const UniqueFd jobs = is_there() && is_job_id(id) ? open_jobs() : UniqueFd();
  return jobs.valid() ? read_record_of(jobs.get(), id) : std::nullopt;
}

// Oldest first until both the number and the bytes leave room for one more.
void JobFolder::prune() const {
  const UniqueFd jobs = open_jobs();
  std::vector<Removable> finished;
  std::uint64_t bytes = 0;
  std::array<std::size_t, kJobKinds.size()> left{};
  for (const std::string& id : list_ids(jobs.get())) {
    const UniqueFd folder = open_folder_at(jobs.get(), id.c_str());
    struct stat info {};
    if (!folder.valid() || ::fstat(folder.get(), &info) != 0) {
      continue;
    }
    const std::uint64_t held = bytes_in(folder.get());
    bytes += held;
    const auto record = read_record(folder.get());
    const std::int64_t made = info.st_mtim.tv_sec * 1000;
    if (!record.ok() ? now_ms() - made < kMakingMs : record->status == JobStatus::kRunning) {
      continue;
    }
    const JobKind kind = record.ok() ? record->kind : JobKind::kCommand;
    const std::int64_t age = record.ok() && record->ended_ms > 0 ? record->ended_ms : made;
    finished.push_back({.id = id, .kind = kind, .age = age, .bytes = held});
    ++left[static_cast<std::size_t>(kind)];
  }
  std::sort(finished.begin(), finished.end(),
            [](const Removable& a, const Removable& b) { return a.age < b.age; });
  for (const Removable& one : finished) {
    std::size_t& of_its_kind = left[static_cast<std::size_t>(one.kind)];
    if (of_its_kind >= kept(one.kind) || bytes + 2 * kJobLogPieceBytes > kMaxLogFolderBytes) {
      remove_job(jobs.get(), one.id);
      bytes -= one.bytes;
      --of_its_kind;
    }
  }
}

Status write_job_record(int folder, const JobRecord& record) {
  const std::string text = encode_job_record(record);
  const Status written = replace_record(folder, text);
  const int number = written.ok() ? 0 : written.error().os_errno;
  const bool is_full = number == ENOSPC || number == EDQUOT;
  return is_full && overwrite_record(folder, text).ok() ? Status() : written;
}

}  // namespace agentbox::mcp
