// pure: the languages of code contexts: which program runs each, what it is sent, and what the
// driver within it says. Code can write there too: what comes is checked, and misleads nobody else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace agentbox::mcp {

enum class Language { kPython, kNode, kBash };
inline constexpr std::array kLanguages{Language::kPython, Language::kNode, Language::kBash};
[[nodiscard]] std::string_view language_name(Language language);
[[nodiscard]] std::optional<Language> find_language(std::string_view name);

/// Names of programs, the best first, that are looked for in PATH.
[[nodiscard]] std::vector<std::string> interpreter_names(Language language);

/// How an interpreter is started. Its descriptor 0 is the socket over which its driver is spoken
/// to; the driver gives the code an empty input.
struct InterpreterPlan {
  std::string program;
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> variables;  ///< unless they are set already
  std::string preamble;                                        ///< what it is sent first
};
[[nodiscard]] InterpreterPlan plan_interpreter(Language language, const std::string& program);

/// One image of an execution.
inline constexpr std::size_t kMaxImageBytes = 5UL << 20;
inline constexpr std::size_t kMaxImages = 16;
/// One line of a driver: an image in base64 and its frame.
inline constexpr std::size_t kMaxDriverLineBytes = 8UL << 20;
/// Of a text that LIMIT bounds, the least that is given room.
inline constexpr std::size_t kLeastTextBytes = 1000;

/// What a driver is sent to run CODE (no NUL in it) as the execution NUMBER.
[[nodiscard]] std::string frame_code(Language language, std::uint64_t number, std::size_t limit,
                                     std::string_view code);

struct CodeError {
  std::string name = {};
  std::string message = {};
  std::string traceback = {};
};

struct DriverLine {
  enum class Kind { kHello, kBegun, kResult, kError, kImage, kImageTooLarge, kDone };
  Kind kind = Kind::kDone;
  std::uint64_t number = 0;           ///< of the execution; not of kHello
  std::string text = {};              ///< kHello: the version; kResult: the value as text
  std::uint64_t bytes = 0;            ///< kResult, kImageTooLarge: the whole size
  CodeError error = {};               ///< kError
  std::string mime = {};              ///< kImage
  std::string image = {};             ///< kImage, decoded
  std::optional<int> exit_code = {};  ///< kDone: where the code asked to exit, or is a shell's
};
[[nodiscard]] Result<DriverLine> parse_driver_line(std::string_view line);

/// "png" for "image/png"; empty for what is no image we take.
[[nodiscard]] std::string_view image_suffix(std::string_view mime);

}  // namespace agentbox::mcp
