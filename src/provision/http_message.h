// pure: an HTTP request and its answer as values.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace agentbox::provision {

/// One header. The value may be a secret.
struct Header {
  std::string name;
  std::string value;
  bool operator==(const Header&) const = default;
};

/// More than any object of a cluster, or a page of a list of them.
inline constexpr std::size_t kMaxAnswerBytes = 16U << 20U;

struct HttpRequest {
  std::string method = "GET";
  std::string target;  ///< path and query, percent-encoded
  std::vector<Header> headers;
  std::string body;
  std::size_t max_bytes = kMaxAnswerBytes;
};

struct HttpResponse {
  int status = 0;
  std::vector<Header> headers;  ///< names in small letters
  std::string body;

  /// The first header NAME (small letters), or nothing.
  [[nodiscard]] std::string_view header(std::string_view name) const {
    const auto found = std::find_if(headers.begin(), headers.end(),
                                    [&](const Header& entry) { return entry.name == name; });
    return found == headers.end() ? std::string_view() : std::string_view(found->value);
  }
  [[nodiscard]] bool good() const { return status >= 200 && status < 300; }
};

}  // namespace agentbox::provision
