// pure: see job_plan.h.
#include "agentbox/job_plan.h"

namespace agentbox::mcp {
namespace {

// First byte of every plan; raised when a field changes.
constexpr char kLayout = 2;
constexpr std::size_t kNumberBytes = 4;
// A list of more words than this could not be executed.
constexpr std::size_t kMaxWords = 1UL << 16;

// One declaration of the fields serves both directions.
template <typename A, typename Plan>
void fields(A& a, Plan& plan) {
  a.words(plan.programs);
  a.words(plan.argv);
  a.words(plan.environment);
  a.text(plan.command);
  a.text(plan.folder);
  a.flag(plan.has_input);
  a.flag(plan.terminal);
  a.number(plan.columns);
  a.number(plan.rows);
  a.number(plan.lifetime_seconds);
  a.flag(plan.restart);
  a.kind(plan.kind);
}

class PlanWriter {
 public:
  void number(std::uint32_t value) {
    for (std::size_t i = 0; i < kNumberBytes; ++i, value >>= 8U) {
      out_ += static_cast<char>(value & 0xffU);
    }
  }
  void kind(JobKind value) { number(static_cast<std::uint32_t>(value)); }
  void flag(bool value) { out_ += value ? '\1' : '\0'; }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_ += value;
  }
  void words(const std::vector<std::string>& list) {
    number(static_cast<std::uint32_t>(list.size()));
    for (const std::string& word : list) {
      text(word);
    }
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_{kLayout};
};

class PlanReader {
 public:
  explicit PlanReader(std::string_view in) : in_(in) {}
  [[nodiscard]] bool good() const { return good_ && in_.empty(); }

  void number(std::uint32_t& value) {
    value = 0;
    if (!has(kNumberBytes)) {
      return;
    }
    for (std::size_t i = kNumberBytes; i-- > 0;) {
      value = value << 8U | static_cast<unsigned char>(in_[i]);
    }
    in_.remove_prefix(kNumberBytes);
  }
  void kind(JobKind& value) {
    std::uint32_t index = 0;
    number(index);
    good_ = good_ && index < kJobKinds.size();
    value = good_ ? kJobKinds[index] : value;
  }
  void flag(bool& value) {
    if (has(1)) {
      good_ = in_[0] == '\0' || in_[0] == '\1';
      value = in_[0] == '\1';
      in_.remove_prefix(1);
    }
  }
  // No NUL: these become C strings.
  void text(std::string& value) {
    std::uint32_t size = 0;
    number(size);
    if (has(size)) {
      value.assign(in_.substr(0, size));
      in_.remove_prefix(size);
      good_ = value.find('\0') == std::string::npos;
    }
  }
  void words(std::vector<std::string>& list) {
    std::uint32_t count = 0;
    number(count);
    good_ = good_ && count <= kMaxWords;
    for (std::uint32_t i = 0; good_ && i < count; ++i) {
      text(list.emplace_back());
    }
  }

 private:
  bool has(std::size_t size) {
    good_ = good_ && in_.size() >= size;
    return good_;
  }

  std::string_view in_;
  bool good_ = true;
};

}  // namespace

std::string encode_plan(const JobPlan& plan) {
  PlanWriter writer;
  fields(writer, plan);
  return writer.take();
}

Result<JobPlan> decode_plan(std::string_view bytes) {
  if (bytes.size() > kMaxPlanBytes || !bytes.starts_with(kLayout)) {
    return Error{Code::kProtocol, "not a job's plan"};
  }
  JobPlan plan;
  PlanReader reader(bytes.substr(1));
  fields(reader, plan);
  if (!reader.good() || plan.programs.empty() || plan.argv.empty()) {
    return Error{Code::kProtocol, "malformed plan of a job"};
  }
  return plan;
}

}  // namespace agentbox::mcp
