// edge: see context_recorder.h.
#include "agentbox/context_recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/handle.h"

namespace agentbox::mcp {

void ContextRecorder::open(std::uint64_t number, std::size_t limit, bool restarted) {
  report_ = ExecutionReport{};
  report_.number = number;
  report_.restarted = restarted;
  report_.output = HeadTail(limit);
  report_.errors = HeadTail(limit);
}

void ContextRecorder::begin(TimePoint now) {
  is_open_ = true;
  began_ = now;
  report_.log_start = log_end_;
  report_.late_bytes = std::exchange(late_, 0);
}

void ContextRecorder::add_output(std::string_view bytes, bool is_error) {
  if (is_open_) {
    (is_error ? report_.errors : report_.output).add(bytes);
  } else {
    late_ += bytes.size();
  }
  log_end_ += bytes.size();
  unlogged_.append(bytes);
  write_log();
}

void ContextRecorder::write_log() {
  while (!unlogged_.empty()) {
    const ssize_t written = ::write(log_, unlogged_.data(), unlogged_.size());
    if (written < 0 && errno != EINTR) {
      if (errno != EAGAIN) {
        unlogged_.clear();  // nobody keeps it any more
      }
      return;
    }
    unlogged_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

void ContextRecorder::add(const DriverLine& line) {
  if (!is_open_) {
    return;
  }
  switch (line.kind) {
    case DriverLine::Kind::kResult:
      report_.result = line.text;
      report_.result_bytes = line.bytes;
      break;
    case DriverLine::Kind::kError:
      report_.error = line.error;
      break;
    case DriverLine::Kind::kImage:
      add_image(line);
      break;
    case DriverLine::Kind::kImageTooLarge:
      ++report_.images_left_out;
      break;
    case DriverLine::Kind::kDone:
      report_.exit_code = line.exit_code;
      break;
    default:
      break;
  }
}

void ContextRecorder::add_image(const DriverLine& line) {
  const std::string name =
      image_file_name(report_.number, report_.images.size() + 1, image_suffix(line.mime));
  if (report_.images.size() >= kMaxImages || !write_image(name, line.image)) {
    ++report_.images_left_out;
    return;
  }
  make_room(line.image.size());
  files_.emplace_back(name, line.image.size());
  file_bytes_ += line.image.size();
  report_.images.push_back({.file = name, .mime = line.mime, .bytes = line.image.size()});
}

bool ContextRecorder::write_image(const std::string& name, const std::string& data) const {
  const UniqueFd file(
      ::openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return false;
  }
  if (!write_all(file.get(), data).ok()) {
    (void)::unlinkat(folder_, name.c_str(), 0);  // half of it: the disk is full
    return false;
  }
  return true;
}

void ContextRecorder::make_room(std::uint64_t bytes) {
  while (!files_.empty() && file_bytes_ + bytes > kMaxImageFolderBytes) {
    (void)::unlinkat(folder_, files_.front().first.c_str(), 0);
    file_bytes_ -= files_.front().second;
    files_.pop_front();
  }
}

ExecutionReport& ContextRecorder::close(TimePoint now) {
  report_.duration_ms =
      is_open_ ? std::chrono::duration_cast<std::chrono::milliseconds>(now - began_).count() : 0;
  is_open_ = false;
  return report_;
}

}  // namespace agentbox::mcp
