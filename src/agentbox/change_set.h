// edge: changes of several files, thought through one after another before any is carried out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/outcome.h"
#include "agentbox/transaction.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// Content that one set of changes may hold in memory.
inline constexpr std::uint64_t kMaxChangedBytes = 64ULL << 20;
/// One file that is edited or patched.
inline constexpr std::uint64_t kMaxEditedBytes = 32ULL << 20;

/// Each change sees what those before it made of the workspace, which itself is only read until the
/// plan is committed. A folder that is moved or deleted is taken whole: no other change may touch
/// what is in it.
class ChangeSet {
 public:
  using Id = std::size_t;

  ChangeSet(const Workspace& workspace, std::function<bool()> cancelled)
      : workspace_(workspace), cancelled_(std::move(cancelled)) {}

  /// The name that PATH stands for; where FOLLOW, what a link at its end leads to inside the
  /// workspace. Folders on the way may be missing.
  [[nodiscard]] Outcome<Id> find(const BoxPath& path, bool follow);
  [[nodiscard]] const std::string& shown(Id id) const { return nodes_[id].shown; }

  [[nodiscard]] bool exists(Id id) const { return nodes_[id].now != Now::kAbsent; }
  /// The content of a regular file of at most kMaxEditedBytes.
  [[nodiscard]] Outcome<std::string> content(Id id);
  /// The hash of a regular file.
  [[nodiscard]] Outcome<std::string> sha256(Id id);

  [[nodiscard]] std::optional<ToolError> write(Id id, std::string content,
                                               std::optional<mode_t> mode);
  [[nodiscard]] std::optional<ToolError> remove(Id id, bool recursive);
  /// TO must be free.
  [[nodiscard]] std::optional<ToolError> move(Id from, Id to);
  /// False where the folder is there already.
  [[nodiscard]] Outcome<bool> make_folder(Id id, std::optional<mode_t> mode);
  [[nodiscard]] std::optional<ToolError> set_mode(Id id, mode_t mode);

  /// What is to be done so that all is as it was changed to be.
  [[nodiscard]] Outcome<ChangePlan> plan() const;
  /// Names that will be other than they were.
  [[nodiscard]] std::size_t changed() const;

 private:
  enum class Now { kAbsent, kOriginal, kContent, kFolder };
  struct Node {
    Place place = {};
    std::string shown = {};
    bool existed = false;
    struct stat info {};
    std::string sha256 = {};  // of the original, where it was read

    Now now = Now::kAbsent;
    Id origin = 0;             // kOriginal: whose; kContent: whose attributes it has
    bool has_origin = false;   // kContent
    std::string content = {};  // kContent
    std::optional<mode_t> mode = {};
  };

  [[nodiscard]] Outcome<Place> place_of(const BoxPath& path, bool follow, bool& exists,
                                        struct stat& info);
  [[nodiscard]] std::optional<ToolError> require_file(Id id) const;
  [[nodiscard]] Original original(Id id) const;
  [[nodiscard]] std::optional<ToolError> check_folders() const;
  [[nodiscard]] bool is_own(Id id) const {
    return nodes_[id].now == Now::kOriginal && nodes_[id].origin == id;
  }
  [[nodiscard]] bool took(Id id, Id origin) const {
    return nodes_[id].now == Now::kOriginal && nodes_[id].origin == origin;
  }
  void plan_original(Id id, ChangePlan& plan) const;
  void plan_new(Id id, ChangePlan& plan) const;

  const Workspace& workspace_;
  std::function<bool()> cancelled_;
  std::vector<Node> nodes_;
  std::map<std::string, Id> by_path_;
  std::uint64_t held_ = 0;
};

/// Carries out in the box of CONTEXT what CHANGES says, all of it or nothing; where DRY, only looks
/// whether that could be planned.
[[nodiscard]] std::optional<ToolError> apply_changes(const ChangeSet& changes, bool dry,
                                                     CallContext& context);

}  // namespace agentbox::mcp
