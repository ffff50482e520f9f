// edge: the code contexts of the box, as a session sees them: found, started, asked and ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/call.h"
#include "agentbox/context_driver.h"
#include "agentbox/context_wire.h"
#include "agentbox/hosted.h"
#include "agentbox/job_record.h"
#include "agentbox/outcome.h"

namespace agentbox::mcp {

/// Contexts of a box at once.
inline constexpr std::size_t kMaxContexts = 8;
inline constexpr std::int64_t kDefaultIdleSeconds = 3600;

/// One context: what hosts it, and what it says of itself where it answers.
struct Context {
  JobRecord record;
  std::optional<ContextStatus> status;
};

/// What a new context is to be.
struct ContextPlan {
  Language language = Language::kPython;
  std::string name = {};     ///< empty: none
  bool is_default = false;   ///< the one of its language for calls that name none
  std::string folder = ".";  ///< as the caller wrote it
  std::int64_t idle_seconds = kDefaultIdleSeconds;
  std::vector<std::pair<std::string, std::string>> variables = {};
};

struct Execution {
  std::string code;
  std::chrono::milliseconds timeout{0};
  std::chrono::milliseconds yield{0};  ///< 0: wait for the end
  std::size_t output_bytes = 0;
};

/// What came of asking for one.
struct Executed {
  enum class Kind { kDone, kRunning, kBusy, kNothing };
  Kind kind = Kind::kNothing;
  ExecutionReport report = {};  ///< kDone
  ContextStatus status = {};    ///< else
};

/// Which context a call means.
struct Chosen {
  JobRecord record;
  bool is_default = false;
  bool is_new = false;
};

class Contexts {
 public:
  Contexts(Box& box, CallContext& context) : box_(box), context_(context) {}

  /// Those that live, newest first, each asked for its status.
  [[nodiscard]] std::vector<Context> list() const;
  /// By id or name. UNKNOWN_CONTEXT names those that live.
  [[nodiscard]] Outcome<JobRecord> find(const std::string& name) const;
  /// The context NAME, or where it is empty the default one of LANGUAGE, made where it is missing.
  [[nodiscard]] Outcome<Chosen> choose(const std::string& name, Language language) const;
  [[nodiscard]] Outcome<Context> create(const ContextPlan& plan) const;
  /// Runs it, or with no code waits for what runs. CONTEXT_DIED where its host is gone.
  [[nodiscard]] Outcome<Executed> execute(const JobRecord& record,
                                          const Execution& execution) const;
  /// True where something ran.
  [[nodiscard]] Outcome<bool> interrupt(const JobRecord& record) const;
  /// Ends it with all its processes: false where some would not go.
  [[nodiscard]] Outcome<bool> end(const JobRecord& record) const;

  /// The bytes of an image of RECORD's, at most kMaxImageBytes; none where it is gone.
  [[nodiscard]] std::optional<std::string> read_image(const JobRecord& record,
                                                      const CodeImage& image) const;
  [[nodiscard]] std::string image_path(const JobRecord& record, const CodeImage& image) const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  [[nodiscard]] std::vector<JobRecord> records() const;
  [[nodiscard]] std::optional<ToolError> refuse_more() const;
  [[nodiscard]] Outcome<HostedLine> dial(const JobRecord& record, TimePoint deadline) const;
  [[nodiscard]] Outcome<ContextReply> receive(HostedLine& line, TimePoint deadline) const;
  [[nodiscard]] Outcome<ContextReply> ask(const JobRecord& record, const ContextRequest& request,
                                          TimePoint deadline) const;
  [[nodiscard]] Outcome<Executed> follow(HostedLine& line, const Execution& execution) const;
  [[nodiscard]] Outcome<Executed> detach(HostedLine& line) const;

  Box& box_;
  CallContext& context_;
};

/// An interpreter of LANGUAGE in the PATH of ENVIRONMENT; empty: there is none.
[[nodiscard]] std::string find_interpreter(Language language,
                                           const std::vector<std::string>& environment);

/// Whether RECORD is the default context of a language.
[[nodiscard]] std::optional<Language> default_language(const JobRecord& record);

}  // namespace agentbox::mcp
