// edge: see record_io.h.
#include "base/record_io.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace agentbox {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxRecordFds);

std::vector<UniqueFd> take_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

Status send_record(int socket, const record::Record& record, std::initializer_list<int> fds) {
  AB_TRY(datagram, record::encode(record));
  if (fds.size() > kMaxRecordFds) {
    return Error{Code::kInvalid, "too many descriptors for one record"};
  }
  iovec data{datagram.data(), datagram.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fds.size() > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.begin(), sizeof(int) * fds.size());
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    Error error = errno_error("send record");
    error.code = errno == EAGAIN ? Code::kUnavailable : error.code;
    return error;
  }
  return {};
}

Result<std::optional<Received>> receive_record(int socket) {
  // One byte more than the largest record tells a longer datagram from a full one.
  std::array<char, record::kMaxBytes + 1> buffer{};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  iovec data{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    // An end that closed with something unread is told once, before what it had sent: that comes
    // next, and then the end.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0) {
    Error error = errno_error("receive record");
    error.code = errno == EAGAIN ? Code::kUnavailable : error.code;
    return error;
  }
  auto fds = take_fds(message);
  if (got == 0) {
    return std::optional<Received>{};
  }
  AB_TRY(decoded, record::decode(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
  return std::optional<Received>(Received{std::move(decoded), std::move(fds)});
}

}  // namespace agentbox
