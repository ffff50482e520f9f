// edge: see log.h.
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/json.h"
#include "base/text.h"

namespace agentbox::log {
namespace {

/// A field longer than this tells nobody more.
constexpr std::size_t kMaxFieldBytes = 1024;

struct Settings {
  std::string program = "agentbox";
  bool json = false;
};
Settings& settings() {
  static Settings instance;  // set once at start, before any other thread or child exists
  return instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string json_line(Level level, std::string_view message, Fields fields) {
  OrderedJson line;
  line["stream"] = "log";
  line["level"] = spdlog::level::to_string_view(to_spdlog(level)).data();
  line["program"] = settings().program;
  line["message"] = escape_text(message, kMaxFieldBytes);
  for (const auto& [name, value] : fields) {
    line[std::string(name)] = escape_text(value, kMaxFieldBytes);
  }
  // The time is put in by the sink's pattern: this is the rest of the object.
  return dump_json(line).substr(1);
}

std::string text_line(std::string_view message, Fields fields) {
  std::string line = escape_text(message, kMaxFieldBytes);
  for (const auto& [name, value] : fields) {
    line.append("  ").append(name).append("=").append(escape_text(value, kMaxFieldBytes));
  }
  return line;
}

}  // namespace

void start(std::string_view program, bool json, Level least) {
  settings() = {std::string(program), json};
  auto logger = std::make_shared<spdlog::logger>("agentbox",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_level(to_spdlog(least));
  logger->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ",%v)"
                           : "%Y-%m-%d %H:%M:%S.%e " + std::string(program) + " %l: %v",
                      spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

void write(Level level, std::string_view message, Fields fields) {
  spdlog::default_logger_raw()->log(
      to_spdlog(level), "{}",
      settings().json ? json_line(level, message, fields) : text_line(message, fields));
}

}  // namespace agentbox::log
