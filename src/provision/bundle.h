// edge: one file with all that a client needs to reach a box: a shell script that opens a session.
#pragma once

#include <string>

#include "provision/answer.h"
#include "provision/report.h"

namespace agentbox::provision {

/// Writes FILE, which its owner alone can read and run: the printed command with the host key in
/// it. The client's private key is named when it is run (FILE PRIVATE-KEY), or is in it too where
/// WITH_IDENTITY says so; refused where that key is not known here.
[[nodiscard]] Answer<Report> write_bundle(const BoxView& view, const std::string& file,
                                          bool with_identity);

}  // namespace agentbox::provision
