// pure: the one error vocabulary, and Result<T>, the value or the reason there is none.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace agentbox {

/// What kind of failure it is; the words for people are in Error::what.
enum class Code : std::uint8_t {
  kInvalid,      ///< the input is wrong; the same input will fail again
  kDenied,       ///< understood and refused
  kNotFound,     ///< the thing named does not exist
  kExists,       ///< the thing named exists already
  kLimit,        ///< a named limit was reached
  kTimeout,      ///< a deadline passed
  kSystem,       ///< the kernel or the disk said no
  kProtocol,     ///< the other side broke the protocol
  kUnavailable,  ///< not now; trying again may help
};

/// A failure: its kind, its words, and the errno it came from (0 where none).
struct Error {
  Code code = Code::kSystem;
  std::string what;
  int os_errno = 0;

  /// The same error seen from one level further out: "context: what".
  [[nodiscard]] Error in(std::string_view context) && {
    what.insert(0, ": ").insert(0, context);
    return std::move(*this);
  }
};

/// Reads errno once, at the call that set it: "doing: No such file or directory".
[[nodiscard]] inline Error errno_error(std::string_view doing, int number = errno) {
  const Code code = number == ENOENT                        ? Code::kNotFound
                    : number == EEXIST                      ? Code::kExists
                    : (number == EACCES || number == EPERM) ? Code::kDenied
                                                            : Code::kSystem;
  return Error{code, std::string(doing) + ": " + std::generic_category().message(number), number};
}

/// A value or an Error. Checking before value() is the caller's duty (it aborts otherwise).
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a value is a result
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): an error is a result
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] Error& error() & { return std::get<1>(state_); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): an error is a status
  Status(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace agentbox

// AB_TRY(name, expression): name is the value, or the enclosing function returns the error.
#define AB_CONCAT_INNER(a, b) a##b
#define AB_CONCAT(a, b) AB_CONCAT_INNER(a, b)
#define AB_TRY_INNER(holder, name, ...) \
  auto holder = (__VA_ARGS__);          \
  if (!holder.ok())                     \
    return std::move(holder).error();   \
  auto name = std::move(holder).value() /* NOLINT(bugprone-macro-parentheses): it declares */
#define AB_TRY(name, ...) AB_TRY_INNER(AB_CONCAT(ab_try_, __LINE__), name, __VA_ARGS__)

// AB_CHECK(expression): the enclosing function returns the error, if there is one.
#define AB_CHECK(...)                                    \
  do {                                                   \
    if (auto ab_check = (__VA_ARGS__); !ab_check.ok()) { \
      return std::move(ab_check).error();                \
    }                                                    \
  } while (false)
