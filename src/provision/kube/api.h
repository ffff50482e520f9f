// pure: what a cluster's API is asked and what its answers mean.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "provision/answer.h"
#include "provision/http_message.h"

namespace agentbox::provision::kube {

/// A kind of object: where it lies in the API.
struct Resource {
  const char* group_version;  ///< `v1`, or `GROUP/VERSION`
  const char* kind;
  const char* plural;
};
inline constexpr Resource kSandboxes{"agents.x-k8s.io/v1beta1", "Sandbox", "sandboxes"};
inline constexpr Resource kClaims{"extensions.agents.x-k8s.io/v1beta1", "SandboxClaim",
                                  "sandboxclaims"};
inline constexpr Resource kPools{"extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool",
                                 "sandboxwarmpools"};
inline constexpr Resource kTemplates{"extensions.agents.x-k8s.io/v1beta1", "SandboxTemplate",
                                     "sandboxtemplates"};
inline constexpr Resource kSecrets{"v1", "Secret", "secrets"};
inline constexpr Resource kPods{"v1", "Pod", "pods"};
inline constexpr Resource kNetworkPolicies{"networking.k8s.io/v1", "NetworkPolicy",
                                           "networkpolicies"};
inline constexpr Resource kPipes{"sshpiper.com/v1beta1", "Pipe", "pipes"};
inline constexpr Resource kVolumeClaims{"v1", "PersistentVolumeClaim", "persistentvolumeclaims"};
inline constexpr Resource kAccessReviews{"authorization.k8s.io/v1", "SelfSubjectAccessReview",
                                         "selfsubjectaccessreviews"};

/// `/api/v1/namespaces/NS/PLURAL[/NAME]`. NS and NAME have passed their grammar. NS empty: a kind
/// that is in no namespace.
[[nodiscard]] std::string path_of(const Resource& resource, const std::string& ns,
                                  const std::string& name = {});
/// TEXT as the value of a query.
[[nodiscard]] std::string query_escape(std::string_view text);

/// What came instead of what was asked for, in words: the server's message whole, and what to do.
/// DOING is `verb the thing`. A 404 is Exit::kFailed: who can make more of it asks with find().
[[nodiscard]] Failure failure_of_answer(const HttpResponse& response, const std::string& doing);

/// Bounds of trying again.
inline constexpr int kMostTries = 10;
inline constexpr std::chrono::milliseconds kFirstPause{200};
inline constexpr std::chrono::seconds kLongestPause{30};

/// How long to wait before the request is sent again; nothing: it is not. TRY is 1 for the first.
/// 429 and 5xx with Retry-After are tried again; 5xx without only where the request is REPEATABLE.
[[nodiscard]] std::optional<std::chrono::milliseconds> pause_after(const HttpResponse& response,
                                                                   int attempt, bool repeatable);
/// The same after a connection that failed.
[[nodiscard]] std::optional<std::chrono::milliseconds> pause_after_break(const Error& error,
                                                                         int attempt,
                                                                         bool repeatable);

/// The texts of the Warning headers (RFC 7234, code 299), unquoted and escaped.
[[nodiscard]] std::vector<std::string> warnings_of(const HttpResponse& response);

/// One line of a watch.
struct WatchEvent {  // NOLINT(bugprone-exception-escape): the library's JSON value moves with
                     // assertions
  enum class Kind : std::uint8_t {
    kPresent,   ///< added or modified
    kGone,      ///< deleted
    kBookmark,  ///< nothing but a newer version to go on from
    kExpired,   ///< the version is too old: list again
    kFailed,    ///< the server gave up; WHAT says why
  };
  Kind kind = Kind::kFailed;
  Json object;
  std::string version;
  std::string what;
};
[[nodiscard]] Result<WatchEvent> read_watch_event(const Json& line);

/// metadata.NAME of an object as text, or nothing.
[[nodiscard]] std::string metadata_text(const Json& object, std::string_view name);
/// The value at `a/b/c`, or null where any of it is missing.
[[nodiscard]] const Json* find_path(const Json& object, std::string_view path);
/// The text there; empty where it is missing or no text.
[[nodiscard]] std::string text_at(const Json& object, std::string_view path);
/// The text under NAME in the object at PATH: annotations and labels have slashes in their names.
[[nodiscard]] std::string entry_of(const Json& object, std::string_view path,
                                   std::string_view name);

}  // namespace agentbox::provision::kube
