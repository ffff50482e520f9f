// edge: sends and receives records with descriptors over SOCK_SEQPACKET sockets.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "base/handle.h"
#include "base/record.h"
#include "base/result.h"

namespace agentbox {

/// Descriptors one record can carry (Start: stdio, log, records).
inline constexpr std::size_t kMaxRecordFds = 3;

/// Sends RECORD with copies of FDS. On a non-blocking socket a full queue is Code::kUnavailable.
[[nodiscard]] Status send_record(int socket, const record::Record& record,
                                 std::initializer_list<int> fds = {});

/// One record and the descriptors that came with it (each O_CLOEXEC).
struct Received {
  record::Record record;
  std::vector<UniqueFd> fds;
};

/// The next record; nothing where the other end is closed. Code::kUnavailable where a non-blocking
/// socket has none; Code::kProtocol where the datagram is no record (its descriptors are closed).
[[nodiscard]] Result<std::optional<Received>> receive_record(int socket);

}  // namespace agentbox
