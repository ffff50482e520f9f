// pure: one event to one line of JSON, whatever a client put into its fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace agentbox::sshd {

/// One audit event. Fields keep their order; texts are escaped here.
class AuditEvent {
 public:
  explicit AuditEvent(std::string_view name) : name_(name) {}

  AuditEvent text(std::string_view field, std::string_view value) &&;
  AuditEvent number(std::string_view field, std::int64_t value) &&;
  AuditEvent flag(std::string_view field, bool value) &&;

  /// `{"stream":"audit","time":...,"seq":...,"event":...,...}`: neither the chain nor the newline
  /// are there yet. MILLISECONDS is Unix time.
  [[nodiscard]] std::string line(std::uint64_t sequence, std::int64_t milliseconds) const;

 private:
  std::string name_;
  OrderedJson fields_ = OrderedJson::object();
};

}  // namespace agentbox::sshd
