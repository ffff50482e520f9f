// edge: the one door to the log library: synchronous lines on stderr, text for people or JSON.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace agentbox::log {

enum class Level { kDebug, kInfo, kWarning, kError };

/// Fields of a line. Values are escaped here: no byte a stranger sent reaches the log raw.
using Fields = std::initializer_list<std::pair<std::string_view, std::string>>;

/// Called once, before the first line. PROGRAM names the process in each line; JSON writes one
/// object a line with "stream":"log", so that it can share a stream with the audit.
void start(std::string_view program, bool json, Level least);

void write(Level level, std::string_view message, Fields fields = {});
inline void debug(std::string_view message, Fields fields = {}) {
  write(Level::kDebug, message, fields);
}
inline void info(std::string_view message, Fields fields = {}) {
  write(Level::kInfo, message, fields);
}
inline void warning(std::string_view message, Fields fields = {}) {
  write(Level::kWarning, message, fields);
}
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::kError, message, fields);
}

}  // namespace agentbox::log
