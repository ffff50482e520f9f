// edge: see uploads.h.
#include "agentbox/uploads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "agentbox/argument_words.h"
#include "agentbox/file_bytes.h"
#include "agentbox/job_folder.h"
#include "agentbox/job_id.h"
#include "agentbox/leaf_file.h"
#include "agentbox/new_file.h"
#include "agentbox/old_file.h"
#include "agentbox/os_error.h"
#include "agentbox/private_folder.h"
#include "base/random.h"

namespace agentbox::mcp {
namespace {

constexpr const char* kFolderName = "agentbox-uploads";
constexpr std::string_view kRecordEnding = ".json";
// Finished uploads remembered; more would be those of a flood.
constexpr std::size_t kMaxRemembered = 64;
// Names looked at; more are not of our making.
constexpr std::size_t kMaxNames = 4096;
// Another call for the same upload stores a piece, or hashes all of it.
constexpr std::chrono::seconds kLockTime{60};
constexpr mode_t kNewFileMode = 0644;
constexpr mode_t kPermissionBits = 07777;
constexpr std::string_view kNotPlaced = "nothing was put in its place, and the upload is kept";

std::string record_name(const std::string& id) { return id + std::string(kRecordEnding); }

std::int64_t now_seconds() { return now_ms() / 1000; }

ToolError unknown_upload(const std::string& id, std::string_view why) {
  return {.code = "UNKNOWN_UPLOAD",
          .message = "there is no upload " + id + ": " + std::string(why),
          .hint = "Begin again with path and total_size"};
}

ToolError offset_mismatch(std::uint64_t received, std::string message) {
  ToolError error{.code = "OFFSET_MISMATCH",
                  .message = std::move(message),
                  .hint = "Go on at offset " + std::to_string(received)};
  error.details["received_bytes"] = received;
  return error;
}

ToolError cancelled_call() {
  return {.code = "CANCELLED", .message = "the call was cancelled; the upload is kept"};
}

// One upload while a call works on it.
class Upload {
 public:
  Upload(const Workspace& workspace, const std::string& keep_folder, int folder,
         UploadRecord record)
      : workspace_(workspace),
        keep_folder_(keep_folder),
        folder_(folder),
        record_(std::move(record)) {}

  // Finds what has arrived, and keeps other calls away from it; EBUSY where one has it for longer
  // than WAIT. Nothing to open where the upload is complete.
  std::optional<ToolError> open(int cancel_fd, std::chrono::seconds wait);
  std::optional<ToolError> make(const UploadStart& start, const UploadPiece& piece);
  Outcome<UploadState> add(const UploadPiece& piece);
  void drop();
  [[nodiscard]] UploadState state() const;
  // Seconds since 1970 of the last sign of life.
  [[nodiscard]] std::int64_t touched() const;
  [[nodiscard]] const UploadRecord& record() const { return record_; }

 private:
  [[nodiscard]] Outcome<BoxPath> path() const { return workspace_.parse(record_.path); }
  std::optional<ToolError> find_target();
  void open_data();
  std::optional<ToolError> lock(int cancel_fd, std::chrono::seconds wait);
  std::optional<ToolError> learn(const UploadPiece& piece);
  std::optional<ToolError> store(const UploadPiece& piece);
  [[nodiscard]] std::optional<ToolError> compare(std::string_view data, std::uint64_t offset) const;
  std::optional<ToolError> finish(const UploadPiece& piece);
  std::optional<ToolError> check_target(const UploadPiece& piece) const;
  std::optional<ToolError> dress(mode_t mode);
  std::optional<ToolError> place();
  std::optional<ToolError> overwrite_target();
  std::optional<ToolError> keep_record();
  [[nodiscard]] bool all_here() const {
    return record_.total_size >= 0 && received_ == static_cast<std::uint64_t>(record_.total_size);
  }

  const Workspace& workspace_;
  const std::string& keep_folder_;
  int folder_;  // of the records
  UploadRecord record_;
  Leaf leaf_;
  UniqueFd data_;
  std::optional<FileLock> lock_;  // after data_: goes first
  struct stat info_ {};
  std::uint64_t received_ = 0;
};

std::optional<ToolError> Upload::keep_record() {
  const auto kept =
      put_private_file(folder_, record_name(record_.id), encode_upload_record(record_));
  return kept.ok() ? std::nullopt : std::optional(os_error(record_.path, kept.error()));
}

std::optional<ToolError> Upload::find_target() {
  auto target = path();
  if (!target.ok()) {
    return std::move(target).error();
  }
  auto leaf = workspace_.find_leaf(*target, nullptr);
  if (!leaf.ok()) {
    return std::move(leaf).error();
  }
  leaf_ = std::move(*leaf);
  return std::nullopt;
}

// The file beside the target, where that is still the one that was made.
void Upload::open_data() {
  auto data = open_private_file(leaf_.folder.get(), record_.temporary, O_RDWR);
  if (data.ok() && ::fstat(data->get(), &info_) == 0 && info_.st_dev == record_.device &&
      info_.st_ino == record_.inode) {
    data_ = std::move(*data);
    received_ = static_cast<std::uint64_t>(info_.st_size);
  }
}

std::optional<ToolError> Upload::lock(int cancel_fd, std::chrono::seconds wait) {
  lock_ = FileLock::take(data_.get(), std::chrono::steady_clock::now() + wait, cancel_fd);
  if (!lock_) {
    return ToolError{.code = "EBUSY",
                     .message = "another call works on this upload",
                     .hint = "Send one piece at a time"};
  }
  // It may have grown, or been put in its place, while we waited.
  const auto text = read_private_file(folder_, record_name(record_.id), kMaxUploadRecordBytes);
  auto now = text.ok() ? decode_upload_record(*text) : Result<UploadRecord>(text.error());
  if (!now.ok() || now->id != record_.id || ::fstat(data_.get(), &info_) != 0) {
    return unknown_upload(record_.id, "it was dropped");
  }
  record_ = std::move(*now);
  received_ = static_cast<std::uint64_t>(info_.st_size);
  return std::nullopt;
}

std::optional<ToolError> Upload::open(int cancel_fd, std::chrono::seconds wait) {
  if (!record_.complete) {
    if (auto error = find_target()) {
      return error;
    }
    open_data();
    if (data_.valid()) {
      return lock(cancel_fd, wait);
    }
    // A session that was killed after it put the file in its place could not say so.
    const bool in_place = leaf_.exists && leaf_.info.st_dev == record_.device &&
                          leaf_.info.st_ino == record_.inode && !record_.sha256.empty() &&
                          leaf_.info.st_size == record_.total_size;
    if (!in_place) {
      return unknown_upload(record_.id, "what had arrived is gone");
    }
    record_.complete = true;
  }
  received_ = static_cast<std::uint64_t>(record_.total_size);
  return std::nullopt;
}

std::optional<ToolError> Upload::make(const UploadStart& start, const UploadPiece& piece) {
  record_.path = workspace_.show(start.path);
  record_.started_ms = now_ms();
  record_.mode = start.mode ? static_cast<std::int32_t>(*start.mode) : -1;
  record_.if_sha256 = start.if_sha256.value_or("");
  record_.if_absent = start.if_absent;
  MadeFolders made;
  auto leaf = workspace_.find_leaf(start.path, &made);
  std::optional<ToolError> error;
  if (!leaf.ok()) {
    error = std::move(leaf).error();
  } else {
    leaf_ = std::move(*leaf);
    record_.made_folders = static_cast<std::uint32_t>(made.count());
    error = refuse_temporary_name(leaf_, record_.path);
  }
  if (!error) {
    error = check_target(piece);
  }
  if (error) {
    made.undo();
    return error;
  }
  auto file = NewFile::create(leaf_.folder.get(), KernelFeatures{});  // it needs a name
  if (!file.ok()) {
    made.undo();
    return os_error("write", record_.path, file.error().os_errno);
  }
  record_.temporary = file->leave();
  data_ = UniqueFd(::fcntl(file->fd(), F_DUPFD_CLOEXEC, 0));
  if (::fstat(data_.get(), &info_) == 0) {
    record_.device = info_.st_dev;
    record_.inode = info_.st_ino;
  }
  made.sync();
  lock_ = FileLock::take(data_.get(), std::chrono::steady_clock::now(), -1);
  const auto size = static_cast<off_t>(piece.total_size.value_or(0));
  if (size > 0 && ::fallocate(data_.get(), FALLOC_FL_KEEP_SIZE, 0, size) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    error = os_error("take room for", record_.path, errno);
  }
  if (!error) {
    error = keep_record();
  }
  if (error) {
    drop();
  }
  return error;
}

void Upload::drop() {
  if (!record_.temporary.empty() && leaf_.folder.valid()) {
    (void)::unlinkat(leaf_.folder.get(), record_.temporary.c_str(), 0);
    workspace_.remove_empty_folders(leaf_.relative, record_.made_folders);
  }
  (void)::unlinkat(folder_, record_name(record_.id).c_str(), 0);
}

UploadState Upload::state() const {
  UploadState state{.id = record_.id,
                    .path = record_.path,
                    .received = received_,
                    .complete = record_.complete,
                    .expires_seconds = touched() + kUploadIdleSeconds};
  if (record_.total_size >= 0) {
    state.total_size = static_cast<std::uint64_t>(record_.total_size);
  }
  if (record_.complete) {
    state.sha256 = record_.sha256;
  }
  return state;
}

std::int64_t Upload::touched() const {
  struct stat info {};
  const bool known = data_.valid() && ::fstat(data_.get(), &info) == 0;
  return std::max(record_.started_ms / 1000, known ? info.st_mtim.tv_sec : 0);
}

// Takes over what the first calls did not know.
std::optional<ToolError> Upload::learn(const UploadPiece& piece) {
  const std::uint64_t end = std::max(received_, piece.offset.value_or(0) + piece.data.size());
  const std::int64_t told =
      piece.total_size ? static_cast<std::int64_t>(*piece.total_size) : record_.total_size;
  if (record_.total_size >= 0 && told != record_.total_size) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "total_size was " + std::to_string(record_.total_size) + " before",
                     .hint = "Leave it out, or abort and begin again"};
  }
  if (end > static_cast<std::uint64_t>(told >= 0 ? told : kMaxUploadBytes)) {
    return ToolError{.code = told >= 0 ? "INVALID_ARGUMENT" : "TOO_LARGE",
                     .message = "with this piece there are " + std::to_string(end) +
                                " bytes; the most is " +
                                std::to_string(told >= 0 ? told : kMaxUploadBytes),
                     .hint = "Check offset and total_size"};
  }
  if (piece.sha256 && !record_.sha256.empty() && *piece.sha256 != record_.sha256) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "sha256 was another before",
                     .hint = "Leave it out, or abort and begin again"};
  }
  record_.total_size = told;
  if (piece.sha256) {
    record_.sha256 = *piece.sha256;
  }
  return std::nullopt;
}

// Nothing where DATA is what was stored at OFFSET.
std::optional<ToolError> Upload::compare(std::string_view data, std::uint64_t offset) const {
  const auto stored = read_at(data_.get(), offset, data.size());
  if (!stored.ok()) {
    return os_error(record_.path, stored.error());
  }
  return *stored == data
             ? std::nullopt
             : std::optional(offset_mismatch(
                   received_, "other bytes were stored at offset " + std::to_string(offset)));
}

std::optional<ToolError> Upload::store(const UploadPiece& piece) {
  if (piece.data.empty()) {
    return std::nullopt;
  }
  if (!piece.offset) {
    return ToolError{.code = "INVALID_ARGUMENT",
                     .message = "offset is missing: it says where the piece goes",
                     .hint = "The next one goes to offset " + std::to_string(received_)};
  }
  const std::uint64_t offset = *piece.offset;
  if (offset > received_) {
    return offset_mismatch(received_, "so far " + std::to_string(received_) +
                                          " bytes have arrived, and the piece begins at " +
                                          std::to_string(offset));
  }
  const auto known = std::min<std::uint64_t>(piece.data.size(), received_ - offset);
  if (auto differs = compare(piece.data.substr(0, known), offset)) {
    return differs;
  }
  const std::string_view fresh = piece.data.substr(known);
  if (const int number = write_all_at(data_.get(), fresh, static_cast<off_t>(received_))) {
    (void)!::ftruncate(data_.get(), static_cast<off_t>(received_));
    ToolError error = os_error("write", record_.path, number);
    error.details["received_bytes"] = received_;
    return error;
  }
  received_ += fresh.size();
  return std::nullopt;
}

Outcome<UploadState> Upload::add(const UploadPiece& piece) {
  const UploadRecord before = record_;
  if (auto error = learn(piece)) {
    return *std::move(error);
  }
  if (record_.complete) {
    return state();  // the answer to the last piece was lost
  }
  if (auto error = store(piece)) {
    return *std::move(error);
  }
  const bool learned = record_.total_size != before.total_size || record_.sha256 != before.sha256;
  if (learned) {
    if (auto error = keep_record()) {
      return *std::move(error);
    }
  }
  if (all_here()) {
    if (auto error = finish(piece)) {
      return *std::move(error);
    }
  }
  return state();
}

// The conditions of the beginning, on the name as it is now.
std::optional<ToolError> Upload::check_target(const UploadPiece& piece) const {
  if (record_.if_absent && leaf_.exists) {
    return exists_already(record_.path);
  }
  if (record_.if_sha256.empty()) {
    return std::nullopt;
  }
  return leaf_.exists
             ? require_sha256(leaf_, record_.path, record_.if_sha256, kNotPlaced, piece.cancelled)
             : missing_sha256(record_.path);
}

// Everything has arrived: hashes it and puts it in its place.
std::optional<ToolError> Upload::finish(const UploadPiece& piece) {
  const auto hash = hash_file(data_.get(), UINT64_MAX, piece.cancelled);
  if (piece.cancelled()) {
    return cancelled_call();
  }
  if (!hash.ok()) {
    return os_error(record_.path, hash.error());
  }
  if (!record_.sha256.empty() && record_.sha256 != *hash) {
    drop();
    return ToolError{.code = "HASH_MISMATCH",
                     .message = "what arrived has sha256 " + *hash + ", not " + record_.sha256 +
                                "; it was dropped, and nothing was put in its place",
                     .hint = "Begin again, with chunk_sha256 for each piece"};
  }
  const auto name_lock = workspace_.lock_name(leaf_);
  if (auto error = find_target()) {
    return error;
  }
  if (!names_file(leaf_.folder.get(), record_.temporary, info_)) {
    return conflict(record_.path, "what had arrived was moved away by somebody else");
  }
  if (auto error = check_target(piece)) {
    return error;
  }
  record_.sha256 = *hash;
  // First, so that a call after a kill knows what the file in its place is.
  if (auto error = keep_record()) {
    return error;
  }
  if (auto error = place()) {
    return error;
  }
  record_.complete = true;
  return keep_record();
}

// Gives the new file what the old one was dressed in.
std::optional<ToolError> Upload::dress(mode_t mode) {
  int number = 0;
  if (leaf_.exists) {
    if (const auto old = open_leaf(leaf_, record_.path, O_RDONLY, kNotPlaced); old.ok()) {
      copy_attributes(old->get(), data_.get());
    }
    number = take_owner(data_.get(), leaf_.info, mode);
  } else if (::fchmod(data_.get(), mode) != 0) {
    number = errno;
  }
  if (number == 0 && ::fsync(data_.get()) != 0) {
    number = errno;
  }
  return number == 0 ? std::nullopt : std::optional(os_error("write", record_.path, number));
}

std::optional<ToolError> Upload::place() {
  if (leaf_.exists && leaf_.info.st_nlink > 1) {
    return overwrite_target();
  }
  const mode_t usual =
      leaf_.exists ? leaf_.info.st_mode & kPermissionBits : kNewFileMode & ~workspace_.umask_bits();
  if (auto error = dress(record_.mode >= 0 ? static_cast<mode_t>(record_.mode) : usual)) {
    return error;
  }
  NewFile file = NewFile::adopt(
      leaf_.folder.get(), UniqueFd(::fcntl(data_.get(), F_DUPFD_CLOEXEC, 0)), record_.temporary);
  const auto naming = file.put(leaf_.name, leaf_.exists ? &leaf_.info : nullptr);
  (void)file.leave();  // where it failed the upload stays
  if (!naming.ok()) {
    return os_error("write", record_.path, naming.error().os_errno);
  }
  if (*naming != Naming::kDone) {
    return conflict(record_.path, record_.path + " was changed by somebody else meanwhile; " +
                                      std::string(kNotPlaced));
  }
  sync_folder(leaf_.folder.get());
  const auto target = path();
  const auto found = target.ok() ? workspace_.open_entry(*target) : Result<UniqueFd>(Error{});
  struct stat now {};
  if (!found.ok() || ::fstat(found->get(), &now) != 0 || !same_file(now, info_)) {
    return conflict(record_.path,
                    record_.path + " was replaced by somebody else right after it was written");
  }
  return std::nullopt;
}

// A file with several names keeps its inode, so that all of them have the new content.
std::optional<ToolError> Upload::overwrite_target() {
  auto old = open_leaf(leaf_, record_.path, O_RDWR, kNotPlaced);
  if (!old.ok()) {
    return std::move(old).error();
  }
  if (auto error = overwrite_from({.fd = old->get(),
                                   .size = static_cast<std::uint64_t>(leaf_.info.st_size),
                                   .shown = record_.path},
                                  data_.get(), keep_folder_)) {
    return error;
  }
  if (record_.mode >= 0 && ::fchmod(old->get(), static_cast<mode_t>(record_.mode)) != 0) {
    return os_error("the content was written, but not the mode of", record_.path, errno);
  }
  (void)::unlinkat(leaf_.folder.get(), record_.temporary.c_str(), 0);
  return std::nullopt;
}

// The folder of the records, and nobody else beginning or dropping an upload meanwhile.
struct Desk {
  UniqueFd folder = {};
  std::optional<FileLock> lock = {};
};

Outcome<Desk> open_desk(const std::string& keep_folder, const UploadPiece& piece, bool alone) {
  auto folder = open_private_folder(keep_folder, kFolderName);
  if (!folder.ok()) {
    return os_error("the folder of uploads", folder.error());
  }
  Desk desk{.folder = std::move(*folder), .lock = {}};
  if (alone) {
    desk.lock = FileLock::take(desk.folder.get(), std::chrono::steady_clock::now() + kLockTime,
                               piece.cancel_fd);
    if (!desk.lock) {
      return ToolError{
          .code = "EBUSY", .message = "another call begins an upload", .hint = "Try again"};
    }
  }
  return desk;
}

Outcome<UploadRecord> read_record(int folder, const std::string& id) {
  if (!is_job_id(id)) {
    return unknown_upload(in_quotes(id), "that is no id");
  }
  const auto text = read_private_file(folder, record_name(id), kMaxUploadRecordBytes);
  auto record = text.ok() ? decode_upload_record(*text) : Result<UploadRecord>(text.error());
  if (!record.ok() || record->id != id) {
    return unknown_upload(id, "it was dropped, or the box was started anew");
  }
  return std::move(record).value();
}

// Drops what nobody goes on with. The ids of those still open; too many finished ones are
// forgotten, oldest first.
std::vector<std::string> tidy(const Workspace& workspace, const std::string& keep_folder,
                              int folder) {
  std::vector<std::string> open;
  std::vector<std::pair<std::int64_t, std::string>> finished;
  for (const std::string& name : list_names(folder, kMaxNames)) {
    const std::string id = name.substr(0, name.find('.'));
    if (name != record_name(id)) {
      continue;
    }
    auto record = read_record(folder, id);
    if (!record.ok()) {
      (void)::unlinkat(folder, name.c_str(), 0);
      continue;
    }
    Upload upload(workspace, keep_folder, folder, std::move(*record));
    const auto error = upload.open(-1, std::chrono::seconds(0));
    if (error && error->code == "EBUSY") {
      open.push_back(id);
    } else if (error || upload.touched() + kUploadIdleSeconds <= now_seconds()) {
      upload.drop();
    } else if (upload.record().complete) {
      finished.emplace_back(upload.touched(), name);
    } else {
      open.push_back(id);
    }
  }
  std::sort(finished.begin(), finished.end());
  for (std::size_t i = 0; i + kMaxRemembered < finished.size(); ++i) {
    (void)::unlinkat(folder, finished[i].second.c_str(), 0);
  }
  return open;
}

}  // namespace

Outcome<UploadState> Uploads::begin(const UploadStart& start, const UploadPiece& piece) const {
  AB_TRY(desk, open_desk(keep_folder_, piece, true));
  const std::vector<std::string> open = tidy(workspace_, keep_folder_, desk.folder.get());
  if (open.size() >= kMaxOpenUploads) {
    ToolError error{.code = "QUOTA",
                    .message = std::to_string(open.size()) +
                               " uploads are open, the most there "
                               "can be",
                    .hint = "Finish or abort one of those in the details"};
    error.details["upload_ids"] = open;
    return error;
  }
  UploadRecord record;
  record.id = random_hex(kJobIdBytes);
  Upload upload(workspace_, keep_folder_, desk.folder.get(), std::move(record));
  if (auto error = upload.make(start, piece)) {
    return *std::move(error);
  }
  desk.lock.reset();
  auto state = upload.add(piece);
  if (!state.ok()) {
    upload.drop();
  }
  return state;
}

Outcome<UploadState> Uploads::add(const std::string& id, const UploadPiece& piece) const {
  AB_TRY(desk, open_desk(keep_folder_, piece, false));
  AB_TRY(record, read_record(desk.folder.get(), id));
  Upload upload(workspace_, keep_folder_, desk.folder.get(), std::move(record));
  if (auto error = upload.open(piece.cancel_fd, kLockTime)) {
    return *std::move(error);
  }
  return upload.add(piece);
}

Outcome<UploadState> Uploads::abort(const std::string& id, const UploadPiece& piece) const {
  AB_TRY(desk, open_desk(keep_folder_, piece, false));
  AB_TRY(record, read_record(desk.folder.get(), id));
  Upload upload(workspace_, keep_folder_, desk.folder.get(), std::move(record));
  if (auto error = upload.open(piece.cancel_fd, kLockTime);
      error && error->code != "UNKNOWN_UPLOAD") {
    return *std::move(error);
  }
  const UploadState state = upload.state();
  if (!state.complete) {
    upload.drop();
  }
  return state;
}

std::vector<std::string> Uploads::open_ids() const {
  const auto folder = open_private_folder(keep_folder_, kFolderName);
  return folder.ok() ? tidy(workspace_, keep_folder_, folder->get()) : std::vector<std::string>();
}

}  // namespace agentbox::mcp
