// edge: files between here and a box, over its tools: whole and hashed on both sides, or not at
// all.
#pragma once

#include "provision/answer.h"
#include "provision/backend.h"
#include "provision/command.h"
#include "provision/report.h"

namespace agentbox::provision {

/// Memory does not grow with the file. The local file appears under its name in one step, when its
/// hash is the one of the file in the box; a folder or device in its place is refused. A link that
/// is lost on the way is dialled again, and the transfer goes on where it was.
[[nodiscard]] Answer<Report> pull(const Backend& backend, const Pull& wanted);

/// The same in the other direction: the file in the box appears when it is whole and its hash, read
/// back, is the one of what was sent.
[[nodiscard]] Answer<Report> push(const Backend& backend, const Push& wanted);

}  // namespace agentbox::provision
