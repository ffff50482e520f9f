// pure: one reply's two copies, built line by line: what the text says, the data says too.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "agentbox/argument_words.h"
#include "agentbox/tool.h"

namespace agentbox::mcp {

/// The text is "name: value" lines, then a part under a headline where there is one.
class ReplyBuilder {
 public:
  template <typename T>
  void data(const char* name, T value) {
    json_[name] = std::move(value);
  }
  void line(std::string_view name, std::string_view value) {
    text_.append(name).append(": ").append(value).append("\n");
  }
  template <std::integral T>
  void both(const char* name, T value) {
    data(name, value);
    line(name, std::to_string(value));
  }
  void both(const char* name, const std::string& value) {
    data(name, value);
    line(name, value);
  }
  /// Whole numbers look like it in both copies.
  void number(const char* name, double value) {
    if (const auto whole = static_cast<std::int64_t>(value); static_cast<double>(whole) == value) {
      data(name, whole);
    } else {
      data(name, value);
    }
    line(name, show_number(value));
  }
  void flag(const char* name, bool value) {
    data(name, value);
    line(name, value ? "true" : "false");
  }
  /// In the data always, in the text only where it is set.
  void quiet_flag(const char* name, bool value) {
    data(name, value);
    if (value) {
      line(name, "true");
    }
  }
  [[nodiscard]] ToolResult finish() {
    return {.texts = {std::move(text_)}, .structured = std::move(json_), .error = {}};
  }
  /// With CONTENT below "--- content ---".
  [[nodiscard]] ToolResult finish(std::string_view headline, std::string_view content) {
    text_.append("--- ").append(headline).append(" ---\n").append(content);
    return finish();
  }

 private:
  OrderedJson json_;
  std::string text_;
};

}  // namespace agentbox::mcp
