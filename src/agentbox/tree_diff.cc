// pure: see tree_diff.h.
#include "agentbox/tree_diff.h"

#include <sys/stat.h>

#include <map>
#include <utility>

#include "agentbox/file_kind.h"

namespace agentbox::mcp {
namespace {

using FileId = std::pair<std::uint64_t, std::uint64_t>;
FileId id_of(const FileState& state) { return {state.device, state.inode}; }

bool is_believable(const NameNews& from, const NameNews& to) {
  return is_same_file(*from.before, *to.now) &&
         ((from.renamed && to.renamed) || has_same_content(*from.before, *to.now));
}

FileChange change(ChangeOp op, const NameNews& news, const FileState& state) {
  return {.op = op, .path = news.path, .old_path = {}, .type = type_of(state), .at_ms = news.at_ms};
}

// A name that leads to something else than before.
std::vector<FileChange> changes_of_found(const NameNews& news, const NameNews* from) {
  std::vector<FileChange> changes;
  if (from != nullptr && from->was_shown && news.shown) {
    FileChange moved = change(ChangeOp::kMove, news, *news.now);
    moved.old_path = from->path;
    changes.push_back(std::move(moved));
    if (!is_folder(*news.now) && (news.written || !has_same_content(*from->before, *news.now))) {
      changes.push_back(change(ChangeOp::kModify, news, *news.now));
    }
    return changes;
  }
  const bool was_there = news.before && news.was_shown && !news.went_to;
  const bool replaced = was_there && news.shown && !is_folder(*news.before) &&
                        !is_folder(*news.now) &&
                        (news.before->mode & S_IFMT) == (news.now->mode & S_IFMT);
  if (was_there && !replaced) {
    changes.push_back(change(ChangeOp::kDelete, news, *news.before));
  }
  if (news.shown) {
    changes.push_back(change(replaced ? ChangeOp::kModify : ChangeOp::kCreate, news, *news.now));
  }
  return changes;
}

}  // namespace

bool is_folder(const FileState& state) { return S_ISDIR(state.mode); }

bool is_same_file(const FileState& a, const FileState& b) {
  return id_of(a) == id_of(b) && (a.mode & S_IFMT) == (b.mode & S_IFMT);
}

bool has_same_content(const FileState& a, const FileState& b) {
  return a.mtime_ns == b.mtime_ns && a.size == b.size;
}

bool has_same_rights(const FileState& a, const FileState& b) {
  return a.mode == b.mode && a.user == b.user && a.group == b.group;
}

std::string type_of(const FileState& state) { return std::string(kind_of_file(state.mode).name); }

bool is_no_news(const NameNews& news) {
  if (!news.before || !news.now) {
    return !news.before && !news.now;
  }
  if (news.found() || !has_same_rights(*news.before, *news.now)) {
    return false;
  }
  return is_folder(*news.now) || (!news.written && has_same_content(*news.before, *news.now));
}

void match_moves(std::vector<NameNews>& news) {
  std::multimap<FileId, std::size_t> lost;
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (news[i].lost()) {
      lost.emplace(id_of(*news[i].before), i);
    }
  }
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (!news[i].found()) {
      continue;
    }
    const auto [first, last] = lost.equal_range(id_of(*news[i].now));
    for (auto from = first; from != last; ++from) {
      if (is_believable(news[from->second], news[i])) {
        news[i].came_from = from->second;
        news[from->second].went_to = i;
        lost.erase(from);
        break;
      }
    }
  }
}

std::vector<FileChange> changes_of(const std::vector<NameNews>& news, std::size_t index) {
  const NameNews& one = news[index];
  if (one.found()) {
    return changes_of_found(one, one.came_from ? &news[*one.came_from] : nullptr);
  }
  if (one.lost()) {
    const bool told = one.went_to && news[*one.went_to].shown;
    return told || !one.was_shown
               ? std::vector<FileChange>{}
               : std::vector<FileChange>{change(ChangeOp::kDelete, one, *one.before)};
  }
  if (!one.shown || !one.now || is_no_news(one)) {
    return {};
  }
  const bool written =
      !is_folder(*one.now) && (one.written || !has_same_content(*one.before, *one.now));
  return {change(written ? ChangeOp::kModify : ChangeOp::kAttrib, one, *one.now)};
}

}  // namespace agentbox::mcp
