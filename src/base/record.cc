// pure: see record.h.
#include "base/record.h"

#include <type_traits>
#include <utility>

#include "base/text.h"

namespace agentbox::record {
namespace {

// One declaration of each record's fields serves both directions.
template <typename A>
void fields(A& a, Accepted& r) {
  a(r.ticket, r.peer);
}
template <typename A>
void fields(A& a, TurnedAway& r) {
  a(r.peer, r.reason);
}
template <typename A>
void fields(A& a, Reaped& r) {
  a(r.connection, r.how, r.status);
}
template <typename A>
void fields(A& a, Channel& r) {
  a(r.ticket, r.connection);
}
template <typename A>
void fields(A& a, Forked& r) {
  a(r.connection, r.pid);
}
template <typename A>
void fields(A& a, LoggedIn& r) {
  a(r.connection);
}
template <typename A>
void fields(A& a, Kill& r) {
  a(r.connection);
}
template <typename A>
void fields(A& a, Listening& r) {
  a(r.host_key, r.fingerprint);
}
template <typename A>
void fields(A& a, AuthTried& r) {
  a(r.accepted, r.final, r.user, r.method, r.algorithm, r.key, r.reason, r.authority, r.serial,
    r.key_id, r.expires);
}
template <typename A>
void fields(A& a, Requested& r) {
  a(r.channel, r.allowed, r.kind, r.words_bytes, r.words_sha256, r.reason);
}
template <typename A>
void fields(A& a, SessionWanted& r) {
  a(r.channel);
}
template <typename A>
void fields(A& a, Closing& r) {
  a(r.reason, r.bytes_in, r.bytes_out);
}
template <typename A>
void fields(A& a, SessionGiven& r) {
  a(r.channel, r.session);
}
template <typename A>
void fields(A& a, SessionDenied& r) {
  a(r.channel, r.reason);
}
template <typename A>
void fields(A& a, SessionOver& r) {
  a(r.channel, r.how, r.status);
}
template <typename A>
void fields(A& a, HangUp& r) {
  a(r.reason);
}
template <typename A>
void fields(A& a, Start& r) {
  a(r.session, r.role, r.key, r.generation, r.environment, r.profile, r.isolation);
}
template <typename A>
void fields(A& a, Drain& r) {
  a(r.seconds);
}
template <typename A>
void fields(A& a, EndJobs& r) {
  a(r.key);
}
template <typename A>
void fields(A& a, Ready& r) {
  a(r.version);
}
template <typename A>
void fields(A& a, Ended& r) {
  a(r.session, r.how, r.status);
}
template <typename A>
void fields(A& a, ToolCalled& r) {
  a(r.tool, r.outcome, r.code, r.path, r.duration_us, r.arguments_bytes, r.arguments_sha256,
    r.bytes_in, r.bytes_out, r.has_exit_code, r.exit_code);
}

template <typename A>
void fields(A& a, JobWanted& r) {
  a(r.name);
}
template <typename A>
void fields(A& a, JobSought& r) {
  a(r.id);
}
template <typename A>
void fields(A& /*a*/, JobLineWanted& /*r*/) {}
template <typename A>
void fields(A& a, JobDoomed& r) {
  a(r.id);
}
template <typename A>
void fields(A& a, JobGiven& r) {
  a(r.id);
}
template <typename A>
void fields(A& a, JobRefused& r) {
  a(r.why, r.id);
}
template <typename A>
void fields(A& /*a*/, JobCaller& /*r*/) {}
template <typename A>
void fields(A& /*a*/, JobLaunch& /*r*/) {}
template <typename A>
void fields(A& a, JobAsked& r) {
  a(r.at_once, r.log_end);
}
template <typename A>
void fields(A& a, JobStop& r) {
  a(r.grace_ms, r.why);
}
template <typename A>
void fields(A& a, JobSignal& r) {
  a(r.number, r.tree);
}
template <typename A>
void fields(A& a, JobInput& r) {
  a(r.bytes, r.close);
}
template <typename A>
void fields(A& /*a*/, JobInputOver& /*r*/) {}
template <typename A>
void fields(A& a, JobResize& r) {
  a(r.columns, r.rows);
}
template <typename A>
void fields(A& a, JobDone& r) {
  a(r.error, r.count);
}
template <typename A>
void fields(A& a, JobState& r) {
  a(r.over, r.pid, r.leader_ended, r.live, r.log_end);
}
template <typename A>
void fields(A&, Recorded&) {}
template <typename A>
void fields(A& a, EndSession& r) {
  a(r.session);
}
template <typename A>
void fields(A& a, Isolated& r) {
  a(r.descriptors);
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  [[nodiscard]] bool good() const { return good_; }

  template <typename... Fields>
  void operator()(const Fields&... field) {
    (put(field), ...);
  }

 private:
  template <typename Number>
  void put_number(Number value, std::size_t bytes) {
    auto rest = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < bytes; ++i, rest >>= 8U) {
      out_ += static_cast<char>(rest & 0xffU);
    }
  }
  void put(bool value) { put_number(value ? 1 : 0, 1); }
  void put(End value) { put_number(static_cast<std::uint8_t>(value), 1); }
  void put(std::uint32_t value) { put_number(value, 4); }
  void put(std::int32_t value) { put_number(static_cast<std::uint32_t>(value), 4); }
  void put(std::uint64_t value) { put_number(value, 8); }
  void put(const std::string& text) {
    good_ = good_ && text.size() <= kMaxTextBytes && is_printable_ascii(text);
    put_number(text.size(), 2);
    out_ += text;
  }
  void put(const std::vector<std::string>& list) {
    good_ = good_ && list.size() <= kMaxListItems;
    put_number(list.size(), 2);
    for (const std::string& text : list) {
      put(text);
    }
  }

  std::string& out_;
  bool good_ = true;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }

  template <typename... Fields>
  void operator()(Fields&... field) {
    (get(field), ...);
  }

 private:
  std::uint64_t number(std::size_t bytes) {
    if (!good_ || in_.size() < bytes) {
      good_ = false;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = value << 8U | static_cast<unsigned char>(in_[i]);
    }
    in_.remove_prefix(bytes);
    return value;
  }
  void get(bool& value) {
    const auto raw = number(1);
    good_ = good_ && raw <= 1;
    value = raw == 1;
  }
  void get(End& value) {
    const auto raw = number(1);
    good_ = good_ && raw <= static_cast<std::uint8_t>(End::kLost);
    value = good_ ? static_cast<End>(raw) : End::kLost;
  }
  void get(std::uint32_t& value) { value = static_cast<std::uint32_t>(number(4)); }
  void get(std::int32_t& value) {
    value = static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4)));
  }
  void get(std::uint64_t& value) { value = number(8); }
  void get(std::string& text) {
    const auto length = static_cast<std::size_t>(number(2));
    if (!good_ || length > kMaxTextBytes || in_.size() < length ||
        !is_printable_ascii(in_.substr(0, length))) {
      good_ = false;
      return;
    }
    text.assign(in_.substr(0, length));
    in_.remove_prefix(length);
  }
  void get(std::vector<std::string>& list) {
    const auto count = number(2);
    good_ = good_ && count <= kMaxListItems;
    for (std::uint64_t i = 0; good_ && i < count; ++i) {
      get(list.emplace_back());
    }
  }

  std::string_view in_;
  bool good_ = true;
};

// The type byte is the alternative's place in Record.
template <std::size_t Index = 0>
bool decode_as(std::size_t type, Reader& reader, Record& out) {
  if constexpr (Index < std::variant_size_v<Record>) {
    if (type == Index) {
      fields(reader, out.emplace<Index>());
      return reader.good() && reader.at_end();
    }
    return decode_as<Index + 1>(type, reader, out);
  } else {
    return false;
  }
}

}  // namespace

Result<std::string> encode(const Record& record) {
  std::string out{static_cast<char>(kLayout), static_cast<char>(record.index())};
  Writer writer(out);
  std::visit(
      [&](const auto& alternative) {
        auto copy = alternative;  // fields() lists references for both directions
        fields(writer, copy);
      },
      record);
  if (!writer.good() || out.size() > kMaxBytes) {
    return Error{Code::kInvalid, "record " + std::to_string(record.index()) + " cannot be encoded"};
  }
  return out;
}

Result<Record> decode(std::string_view datagram) {
  if (datagram.size() < 2 || datagram.size() > kMaxBytes ||
      static_cast<std::uint8_t>(datagram[0]) != kLayout) {
    return Error{Code::kProtocol, "not a record"};
  }
  Reader reader(datagram.substr(2));
  Record record;
  if (!decode_as(static_cast<unsigned char>(datagram[1]), reader, record)) {
    return Error{Code::kProtocol, "malformed record"};
  }
  return record;
}

}  // namespace agentbox::record
