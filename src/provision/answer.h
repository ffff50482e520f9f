// pure: how a command of agentbox-provision ends: an exit code, and words for people and programs.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"

namespace agentbox::provision {

/// Exit codes; --help prints this table.
enum class Exit : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kNoSuchBox = 3,
  kRefused = 4,
  kUnreachable = 5,
  kCheckFailed = 6,
  kNoRights = 7,
};

/// `code` of an error in JSON.
[[nodiscard]] constexpr std::string_view code_of(Exit exit) {
  switch (exit) {
    case Exit::kOk:
      return "OK";
    case Exit::kFailed:
      return "FAILED";
    case Exit::kUsage:
      return "USAGE";
    case Exit::kNoSuchBox:
      return "NO_SUCH_BOX";
    case Exit::kRefused:
      return "REFUSED";
    case Exit::kUnreachable:
      return "UNREACHABLE";
    case Exit::kCheckFailed:
      return "CHECK_FAILED";
    case Exit::kNoRights:
      return "NO_RIGHTS";
  }
  return "FAILED";
}

/// Why a command did not do what was asked, and what to do next.
struct Failure {
  Exit exit = Exit::kFailed;
  std::string message;
  std::string next;
};

/// An Error of base seen as a Failure; NEXT where the caller knows better than the general advice.
[[nodiscard]] inline Failure failure_of(Error error, std::string next = {}) {
  Exit exit = Exit::kFailed;
  switch (error.code) {
    case Code::kDenied:
      exit = error.os_errno != 0 ? Exit::kNoRights : Exit::kRefused;
      break;
    case Code::kTimeout:
    case Code::kUnavailable:
      exit = error.os_errno == EACCES ? Exit::kNoRights : Exit::kUnreachable;
      break;
    case Code::kInvalid:
    case Code::kNotFound:
    case Code::kExists:
    case Code::kLimit:
    case Code::kSystem:
    case Code::kProtocol:
      break;
  }
  if (next.empty()) {
    next = exit == Exit::kNoRights      ? "run it as the user who owns the box, or as root"
           : exit == Exit::kUnreachable ? "see `agentbox-provision status NAME` and `logs NAME`"
                                        : "fix what the message names and run the command again";
  }
  return Failure{exit, std::move(error.what), std::move(next)};
}

/// A value, or the Failure that ends the command. AB_TRY and AB_CHECK work in functions that return
/// one, over Result and Answer alike.
template <typename T>
class [[nodiscard]] Answer {
 public:
  Answer(T value)  // NOLINT(google-explicit-constructor): a value is an answer
      : state_(std::in_place_index<0>, std::move(value)) {}
  Answer(Failure failure)  // NOLINT(google-explicit-constructor): a failure is an answer
      : state_(std::in_place_index<1>, std::move(failure)) {}
  Answer(Error error)  // NOLINT(google-explicit-constructor): so that AB_TRY passes errors on
      : state_(std::in_place_index<1>, failure_of(std::move(error))) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Failure& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Failure&& error() && { return std::get<1>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Failure> state_;
};

/// Success without a value, or the Failure that ends the command.
class [[nodiscard]] Done {
 public:
  Done() = default;
  Done(Failure failure)  // NOLINT(google-explicit-constructor): a failure is an outcome
      : failure_(std::move(failure)) {}
  Done(Error error)  // NOLINT(google-explicit-constructor): so that AB_CHECK passes errors on
      : failure_(failure_of(std::move(error))) {}

  [[nodiscard]] bool ok() const { return !failure_.has_value(); }
  [[nodiscard]] const Failure& error() const& { return *failure_; }
  [[nodiscard]] Failure&& error() && { return std::move(*failure_); }

 private:
  std::optional<Failure> failure_;
};

/// The value of RESULT, or its error with better advice.
template <typename T>
[[nodiscard]] Answer<T> advise(Result<T> result, std::string next) {
  if (result.ok()) {
    return std::move(result).value();
  }
  return failure_of(std::move(result).error(), std::move(next));
}
[[nodiscard]] inline Done advise(Status status, std::string next) {
  if (status.ok()) {
    return {};
  }
  return failure_of(std::move(status).error(), std::move(next));
}

}  // namespace agentbox::provision
