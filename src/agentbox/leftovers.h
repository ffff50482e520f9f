// edge: removes what an earlier life of the box left behind.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ctime>

namespace agentbox::mcp {

/// Removes temporary names of writes and copies cut short in the tree below FOLDER, those whose
/// inode did not change after BEFORE (seconds since 1970). Follows no link, crosses into no other
/// mount. Returns how many.
std::size_t remove_temporaries(int folder, time_t before);

/// Removes everything below FOLDER, FOLDER itself stays. Follows no link. Returns how many names
/// could not be removed.
std::size_t empty_folder(int folder);

}  // namespace agentbox::mcp
