// edge: see spill.h.
#include "agentbox/spill.h"

#include <utility>

namespace agentbox::mcp {

std::string job_log_path(const std::string& out_name, const std::string& id) {
  return out_name + "/" + kJobsFolderName + "/" + id + "/" + kJobLogName;
}

void Spill::add(std::string_view bytes) {
  if (log_) {
    log_->add(bytes);
  } else if (opened_) {
    dropped_ += bytes.size();
  } else if (jobs_.is_there()) {
    pending_.append(bytes);
  }
}

void Spill::open() {
  if (opened_ || !jobs_.is_there()) {
    return;
  }
  opened_ = true;
  if (auto folder = jobs_.make(id_); folder.ok()) {
    folder_ = std::move(*folder);
    log_.emplace(folder_.get(), kMaxSpillBytes, false);
    if (!log_->open().ok()) {
      log_.reset();
    }
  }
  add(std::exchange(pending_, {}));
}

void Spill::save(JobRecord record) const {
  if (log_) {
    record.log_lost = dropped();
    // Without its record the file is still there to be read.
    static_cast<void>(write_job_record(folder_.get(), record));
  }
}

std::string Spill::path() const { return log_ ? job_log_path(out_name_, id_) : std::string(); }

}  // namespace agentbox::mcp
