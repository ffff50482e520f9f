// edge: see file_search.h.
#include "agentbox/file_search.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace agentbox::mcp {
namespace {

/// Read at once; most files are smaller.
constexpr std::size_t kWindowBytes = 1UL << 20;
/// A line longer than this is taken for one that ends here.
constexpr std::size_t kMaxWindowBytes = 16UL << 20;
/// A text has no NUL byte, a binary file one soon.
constexpr std::size_t kBinaryProbeBytes = 8UL << 10;
/// All matches together; a reply holds less.
constexpr std::size_t kMaxKeptBytes = 64UL << 20;
/// More would compete with what else the box does.
constexpr unsigned kMaxThreads = 4;
constexpr std::size_t kFilesPerThread = 32;

enum class Verdict : std::uint8_t { kSearched, kBinary, kTooLarge, kUnreadable };

// What one thread keeps from file to file.
class Reader {
 public:
  explicit Reader(const FileSearchRequest& request) : request_(request) {}

  Verdict search(const Workspace& workspace, const BoxPath& path, std::size_t limit,
                 std::vector<LineMatch>& matches, std::size_t& bytes) {
    const auto file = workspace.open_file(path);
    if (!file.ok()) {
      return Verdict::kUnreadable;
    }
    const auto size = static_cast<std::uint64_t>(file->info.st_size);
    if (size > request_.max_file_bytes || (request_.text.multiline && size > kMaxMultilineBytes)) {
      return Verdict::kTooLarge;
    }
    TextSearcher searcher(request_.text);
    buffer_.clear();
    bool first = true;
    for (bool last = false; !last && matches.size() < limit && searcher.has_room();) {
      const bool whole = request_.text.multiline;
      const std::size_t room =
          whole ? static_cast<std::size_t>(size) + 1 : std::max(kWindowBytes, buffer_.size() + 1);
      switch (fill(file->fd.get(), std::min(room, whole ? room : kMaxWindowBytes))) {
        case Filled::kEnd:
          last = true;
          break;
        case Filled::kMore:
          break;
        case Filled::kFailed:
          return Verdict::kUnreadable;
      }
      if (std::exchange(first, false) && is_binary()) {
        return Verdict::kBinary;
      }
      // A line that fills the largest window, or a file that grows while it is read whole.
      const bool forced = whole || buffer_.size() >= kMaxWindowBytes;
      buffer_.erase(0, searcher.take(buffer_, last || forced, matches, limit));
      last = last || whole;
    }
    bytes = searcher.kept_bytes();
    return Verdict::kSearched;
  }

 private:
  enum class Filled : std::uint8_t { kMore, kEnd, kFailed };

  // Reads until the buffer holds SIZE bytes or the file ends.
  Filled fill(int fd, std::size_t size) {
    std::size_t held = buffer_.size();
    // Twice what is left over, so that a long line is not read byte by byte.
    size = std::max(size, std::min(held * 2, kMaxWindowBytes));
    buffer_.resize(size);
    Filled filled = Filled::kMore;
    while (held < size) {
      const ssize_t got = ::read(fd, buffer_.data() + held, size - held);
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        filled = got == 0 ? Filled::kEnd : Filled::kFailed;
        break;
      }
      held += static_cast<std::size_t>(got);
    }
    buffer_.resize(held);
    return filled;
  }

  [[nodiscard]] bool is_binary() const {
    return std::string_view(buffer_).substr(0, kBinaryProbeBytes).find('\0') !=
           std::string_view::npos;
  }

  const FileSearchRequest& request_;
  std::string buffer_;
};

class Search {
 public:
  Search(const Workspace& workspace, const std::vector<BoxPath>& files,
         const FileSearchRequest& request)
      : workspace_(workspace), files_(files), request_(request), outcomes_(files.size()) {}

  FileSearchResult run() {
    const std::size_t wanted = files_.size() / kFilesPerThread + 1;
    const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
    const auto threads = std::min<std::size_t>({wanted, cores, kMaxThreads});
    std::vector<std::thread> helpers;
    try {
      for (std::size_t i = 1; i < threads; ++i) {
        helpers.emplace_back([this] { work(); });
      }
    } catch (const std::system_error&) {  // the box has no more threads to give: with fewer, then
    }
    work();
    for (std::thread& helper : helpers) {
      helper.join();
    }
    return gather();
  }

 private:
  struct Outcome {
    bool done = false;
    Verdict verdict = Verdict::kSearched;
    std::vector<LineMatch> matches;
    std::size_t bytes = 0;
  };

  [[nodiscard]] bool out_of_time() {
    if (std::chrono::steady_clock::now() >= request_.deadline) {
      timed_out_ = true;
    }
    return timed_out_ || request_.cancelled();
  }

  void work() {
    Reader reader(request_);
    std::size_t limit =
        request_.count_files ? std::numeric_limits<std::size_t>::max() : request_.max_results;
    if (request_.max_per_file > 0) {
      limit = std::min(limit, request_.max_per_file);
    }
    while (!enough_ && !out_of_time()) {
      const std::size_t index = next_.fetch_add(1);
      if (index >= files_.size()) {
        return;
      }
      Outcome outcome;
      outcome.verdict =
          reader.search(workspace_, files_[index], limit, outcome.matches, outcome.bytes);
      outcome.done = true;
      finish(index, std::move(outcome));
    }
  }

  // Enough is found once the files without a gap from the first on hold it.
  void finish(std::size_t index, Outcome outcome) {
    const std::lock_guard lock(mutex_);
    kept_bytes_ += outcome.bytes;
    outcomes_[index] = std::move(outcome);
    while (frontier_ < outcomes_.size() && outcomes_[frontier_].done) {
      const std::size_t matches = outcomes_[frontier_].matches.size();
      found_ += request_.count_files ? std::min<std::size_t>(matches, 1) : matches;
      ++frontier_;
      if (found_ >= request_.max_results || kept_bytes_ >= kMaxKeptBytes) {
        enough_ = true;
        return;
      }
    }
  }

  FileSearchResult gather() {
    FileSearchResult result;
    result.timed_out = timed_out_;
    result.stopped = enough_;
    for (std::size_t i = 0; i < outcomes_.size() && (!enough_ || i < frontier_); ++i) {
      Outcome& outcome = outcomes_[i];
      if (!outcome.done) {
        continue;
      }
      result.stopped = result.stopped || outcome.bytes >= kMaxMatchBytes;
      result.searched += outcome.verdict == Verdict::kSearched ? 1U : 0U;
      result.binary += outcome.verdict == Verdict::kBinary ? 1U : 0U;
      result.too_large += outcome.verdict == Verdict::kTooLarge ? 1U : 0U;
      result.unreadable += outcome.verdict == Verdict::kUnreadable ? 1U : 0U;
      if (!outcome.matches.empty()) {
        result.files.push_back({.index = i, .matches = std::move(outcome.matches)});
      }
    }
    return result;
  }

  const Workspace& workspace_;
  const std::vector<BoxPath>& files_;
  const FileSearchRequest& request_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> enough_{false};
  std::atomic<bool> timed_out_{false};
  std::mutex mutex_;
  std::vector<Outcome> outcomes_;
  std::size_t frontier_ = 0;
  std::size_t found_ = 0;
  std::size_t kept_bytes_ = 0;
};

}  // namespace

FileSearchResult search_files(const Workspace& workspace, const std::vector<BoxPath>& files,
                              const FileSearchRequest& request) {
  return Search(workspace, files, request).run();
}

}  // namespace agentbox::mcp
