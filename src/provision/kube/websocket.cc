// pure: see websocket.h.
#include "provision/kube/websocket.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace agentbox::provision::kube {
namespace {

constexpr unsigned kShortLength = 125;
constexpr unsigned kTwoByteLength = 126;
constexpr unsigned kEightByteLength = 127;

char byte_of(std::size_t value) { return static_cast<char>(value & 0xffU); }
std::size_t at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

bool is_kind(unsigned kind) { return kind <= 2 || (kind >= 8 && kind <= 10); }

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return small;
}

// The value of header NAME (small letters) in ANSWER, without spaces around it.
std::string header_of(std::string_view answer, std::string_view name) {
  while (!answer.empty()) {
    const auto end = std::min(answer.find("\r\n"), answer.size());
    std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 2, answer.size()));
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && lower(line.substr(0, colon)) == name) {
      line.remove_prefix(colon + 1);
      while (line.starts_with(' ')) {
        line.remove_prefix(1);
      }
      while (line.ends_with(' ')) {
        line.remove_suffix(1);
      }
      return std::string(line);
    }
  }
  return {};
}

// The bytes of BYTES' first frame, 0 where it is not whole yet.
Result<std::size_t> frame_size(std::string_view bytes, std::size_t& header, std::size_t& length) {
  if (bytes.size() < 2) {
    return std::size_t{0};
  }
  if ((at(bytes, 0) & 0x70U) != 0 || (at(bytes, 1) & 0x80U) != 0 ||
      !is_kind(static_cast<unsigned>(at(bytes, 0) & 0x0fU))) {
    return Error{Code::kProtocol, "a frame that no server sends"};
  }
  const std::size_t marked = at(bytes, 1);
  const std::size_t more = marked == kTwoByteLength ? 2 : marked == kEightByteLength ? 8 : 0;
  header = 2 + more;
  if (bytes.size() < header) {
    return std::size_t{0};
  }
  length = more == 0 ? marked : 0;
  for (std::size_t i = 0; i < more; ++i) {
    length = (length << 8U) | at(bytes, 2 + i);
  }
  if (length > kMaxFrameBytes) {
    return Error{Code::kLimit, "a frame of more than " + std::to_string(kMaxFrameBytes) + " bytes"};
  }
  return bytes.size() < header + length ? std::size_t{0} : header + length;
}

}  // namespace

std::string encode_frame(const Frame& frame, std::string_view mask) {
  std::string out;
  out += byte_of((frame.last ? 0x80U : 0U) | static_cast<unsigned>(frame.kind));
  const std::size_t length = frame.data.size();
  std::size_t more = 0;
  if (length <= kShortLength) {
    out += byte_of(0x80U | length);
  } else {
    more = length <= 0xffffU ? 2 : 8;
    out += byte_of(0x80U | (more == 2 ? kTwoByteLength : kEightByteLength));
  }
  for (std::size_t i = more; i > 0; --i) {
    out += byte_of(length >> (8 * (i - 1)));
  }
  out.append(mask);
  for (std::size_t i = 0; i < length; ++i) {
    out += byte_of(at(frame.data, i) ^ at(mask, i % mask.size()));
  }
  return out;
}

Result<std::vector<Frame>> FrameReader::feed(std::string_view bytes) {
  rest_.append(bytes);
  std::vector<Frame> frames;
  std::size_t used = 0;
  for (;;) {
    std::size_t header = 0;
    std::size_t length = 0;
    const std::string_view left = std::string_view(rest_).substr(used);
    AB_TRY(size, frame_size(left, header, length));
    if (size == 0) {
      rest_.erase(0, used);
      return frames;
    }
    frames.push_back({static_cast<FrameKind>(at(left, 0) & 0x0fU), (at(left, 0) & 0x80U) != 0,
                      std::string(left.substr(header, length))});
    used += size;
  }
}

Status check_upgrade(std::string_view answer, std::string_view protocol) {
  const auto line = answer.substr(0, std::min(answer.find("\r\n"), answer.size()));
  const bool taken = line.starts_with("HTTP/1.1 101") &&
                     lower(header_of(answer, "upgrade")) == "websocket" &&
                     header_of(answer, "sec-websocket-protocol") == protocol;
  if (taken) {
    return {};
  }
  const bool barred = line.starts_with("HTTP/1.1 401") || line.starts_with("HTTP/1.1 403");
  return Error{Code::kUnavailable,
               "the cluster does not take up a WebSocket: " + escape_text(line, 200),
               barred ? EACCES : 0};
}

Result<std::string> PortChannels::take(const Frame& frame) {
  if (frame.kind == FrameKind::kClose) {
    return Error{Code::kUnavailable, "the cluster closed the port-forward"};
  }
  const bool carries = frame.kind == FrameKind::kBinary || frame.kind == FrameKind::kContinuation;
  if (!carries || frame.data.empty()) {
    return std::string();
  }
  const std::size_t channel = at(frame.data, 0);
  if (channel > 1 || frame.kind == FrameKind::kContinuation || !frame.last) {
    return Error{Code::kProtocol, "a message that no port-forward sends"};
  }
  std::string data = frame.data.substr(1);
  bool& began = channel == 0 ? data_began_ : errors_began_;
  if (!began) {
    began = true;
    const bool ours = data.size() == 2 && (at(data, 0) | (at(data, 1) << 8U)) == port_;
    return ours ? Result<std::string>(std::string())
                : Result<std::string>(Error{Code::kProtocol, "a port-forward of another port"});
  }
  if (channel == 1 && !data.empty()) {
    return Error{Code::kUnavailable, "the port cannot be reached: " + escape_text(data, 300)};
  }
  return channel == 0 ? std::move(data) : std::string();
}

}  // namespace agentbox::provision::kube
