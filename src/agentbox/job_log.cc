// edge: see job_log.h.
#include "agentbox/job_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kPiecePrefix = "log.";
constexpr const char* kNewLink = ".log.new";
// More are not of our making.
constexpr std::size_t kMaxPieces = 16;
// A piece may go between being listed and being opened; twice in a row it will not.
constexpr int kAttempts = 3;

std::string piece_name(std::uint64_t begin) {
  return std::string(kPiecePrefix) + std::to_string(begin);
}

struct Piece {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// In the order of the log, gaps and what is no regular file left out.
std::vector<Piece> list_pieces(int folder) {
  std::vector<Piece> pieces;
  UniqueFd copy(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const CHandle<DIR, ::closedir> dir(copy.valid() ? ::fdopendir(copy.get()) : nullptr);
  if (dir == nullptr) {
    return pieces;
  }
  (void)copy.release();
  while (const dirent* entry =
             ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): this DIR is ours alone
    const std::string_view name = entry->d_name;
    struct stat info {};
    if (!name.starts_with(kPiecePrefix) || pieces.size() == kMaxPieces ||
        ::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    if (const auto begin = parse_decimal(name.substr(kPiecePrefix.size()));
        begin.ok() && *begin < 1ULL << 62U) {
      pieces.push_back({.begin = *begin, .size = static_cast<std::uint64_t>(info.st_size)});
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  return pieces;
}

// Reads on in BYTES; false where the file is gone.
bool read_piece(int folder, const Piece& piece, std::uint64_t at, std::size_t limit,
                std::string& bytes) {
  const UniqueFd file(::openat(folder, piece_name(piece.begin).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return false;
  }
  const std::uint64_t left = piece.begin + piece.size - at;
  const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(left, limit));
  const std::size_t before = bytes.size();
  bytes.resize(before + want);
  std::size_t done = 0;
  while (done < want) {
    const ssize_t got = ::pread(file.get(), bytes.data() + before + done, want - done,
                                static_cast<off_t>(at - piece.begin + done));
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(before + done);
  return true;
}

}  // namespace

Status LogWriter::open() { return begin_piece(); }

Status LogWriter::begin_piece() {
  const std::string name = piece_name(end_);
  UniqueFd file(::openat(folder_, name.c_str(),
                         O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return errno_error("make " + name);
  }
  (void)::unlinkat(folder_, kNewLink, 0);
  if (::symlinkat(name.c_str(), folder_, kNewLink) != 0 ||
      ::renameat(folder_, kNewLink, folder_, kJobLogName) != 0) {
    return errno_error("name the log");
  }
  if (has_previous_) {
    (void)::unlinkat(folder_, piece_name(previous_).c_str(), 0);
  }
  has_previous_ = file_.valid();
  previous_ = begin_;
  begin_ = end_;
  file_ = std::move(file);
  return {};
}

// Says where output is missing, as soon as there is room for that much. A log that has its end may
// not go on behind it.
bool LogWriter::close_gap() {
  if (lost_ == told_) {
    return true;
  }
  if (!rotate_ || (end_ - begin_ >= piece_bytes_ && !begin_piece().ok())) {
    return false;
  }
  const std::string note =
      "\n[" + std::to_string(lost_ - told_) + " bytes of output are not here: the disk was full]\n";
  const ssize_t wrote = ::write(file_.get(), note.data(), note.size());
  if (wrote != static_cast<ssize_t>(note.size())) {
    if (wrote > 0 && ::ftruncate(file_.get(), static_cast<off_t>(end_ - begin_)) != 0) {
      end_ += static_cast<std::uint64_t>(wrote);
    }
    return false;
  }
  end_ += note.size();
  told_ = lost_;
  return true;
}

void LogWriter::add(std::string_view bytes) {
  bool goes_on = close_gap();
  while (!bytes.empty() && goes_on) {
    const std::uint64_t room = piece_bytes_ - std::min(piece_bytes_, end_ - begin_);
    if (room == 0) {
      goes_on = rotate_ && begin_piece().ok();
      continue;
    }
    const std::string_view part =
        bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size())));
    const ssize_t wrote = ::write(file_.get(), part.data(), part.size());
    if (wrote < 0 && errno == EINTR) {
      continue;
    }
    if (wrote <= 0) {
      break;
    }
    end_ += static_cast<std::uint64_t>(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  lost_ += bytes.size();
}

Result<LogPart> read_log(int folder, std::uint64_t at, std::size_t limit) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::vector<Piece> pieces = list_pieces(folder);
    LogPart part;
    part.at = at;
    if (pieces.empty()) {
      return part;
    }
    part.begin = pieces.front().begin;
    part.end = pieces.back().begin + pieces.back().size;
    part.at = std::max(at, part.begin);
    bool complete = true;
    for (const Piece& piece : pieces) {
      const std::uint64_t next = part.at + part.bytes.size();
      if (next >= piece.begin && next < piece.begin + piece.size && part.bytes.size() < limit) {
        complete =
            complete && read_piece(folder, piece, next, limit - part.bytes.size(), part.bytes);
      }
    }
    if (complete) {
      return part;
    }
  }
  return Error{Code::kUnavailable, "the log changes faster than it can be read"};
}

}  // namespace agentbox::mcp
