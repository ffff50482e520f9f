// pure: the value a step of a tool gives, or the error its caller will read.
#pragma once

#include <utility>
#include <variant>

#include "agentbox/tool.h"

namespace agentbox::mcp {

// Like Result<T>, but the failure already carries the stable code and the hint an agent is shown.
// AB_TRY and AB_CHECK work on both. Checking before value() is the caller's duty.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value)  // NOLINT(google-explicit-constructor): a value is an outcome
      : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(ToolError error)  // NOLINT(google-explicit-constructor): an error is an outcome
      : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const ToolError& error() const& { return std::get<1>(state_); }
  [[nodiscard]] ToolError&& error() && { return std::get<1>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, ToolError> state_;
};

[[nodiscard]] inline ToolResult failed(ToolError error) {
  ToolResult result;
  result.error = std::move(error);
  return result;
}

}  // namespace agentbox::mcp
