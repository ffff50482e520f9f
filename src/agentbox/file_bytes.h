// edge: moves bytes between memory and open files, whole or with the errno that stopped it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::mcp {

/// Writes all of DATA at offset AT: 0, or the errno of the write that failed.
[[nodiscard]] int write_all_at(int fd, std::string_view data, off_t at);

/// Copies the content of FROM over that of TO, from the start: 0 or an errno, ECANCELED once
/// CANCELLED says true. Holes of sparse files are filled.
[[nodiscard]] int copy_all(int from, int to, const std::function<bool()>& cancelled = {});

/// At most LIMIT bytes of FD from offset AT; fewer only at the end of the file.
[[nodiscard]] Result<std::string> read_at(int fd, std::uint64_t at, std::size_t limit);

/// Reads once from a non-blocking pipe into BUFFER: GOT bytes, maybe none yet. False where the
/// other end is closed for good.
[[nodiscard]] bool read_once(int fd, std::string& buffer, std::size_t& got);

/// SHA-256 of the open file from its start, in hex. Code::kLimit beyond LIMIT bytes;
/// Code::kUnavailable once CANCELLED says true.
[[nodiscard]] Result<std::string> hash_file(int fd, std::uint64_t limit,
                                            const std::function<bool()>& cancelled = {});

}  // namespace agentbox::mcp
