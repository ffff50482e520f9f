// edge: see tree_diff.h; for the bits of modes alone, which only the system names.
#include "agentbox/tree_diff.h"

#include <sys/stat.h>

#include <map>
#include <string_view>
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

// The news that have to be told before each.
std::vector<std::vector<std::size_t>> find_earlier(const std::vector<NameNews>& news) {
  std::map<std::string_view, std::size_t> lost_folders;
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (news[i].lost() && is_folder(*news[i].before)) {
      lost_folders.emplace(news[i].path, i);
    }
  }
  std::vector<std::vector<std::size_t>> earlier(news.size());
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (!news[i].came_from) {
      continue;
    }
    earlier[*news[i].came_from].push_back(i);
    const std::string_view from = news[*news[i].came_from].path;
    for (std::size_t slash = from.find('/'); !lost_folders.empty() && slash != from.npos;
         slash = from.find('/', slash + 1)) {
      const auto above = lost_folders.find(from.substr(0, slash));
      if (above != lost_folders.end()) {
        earlier[news[above->second].went_to.value_or(above->second)].push_back(i);
      }
    }
  }
  return earlier;
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

std::vector<std::size_t> tell_order(std::vector<NameNews>& news,
                                    const std::vector<std::size_t>& base) {
  const auto earlier = find_earlier(news);
  enum class State : std::uint8_t { kNew, kBegun, kDone };
  std::vector<State> states(news.size(), State::kNew);
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // of each, how many before it are done
  for (const std::size_t first : base) {
    if (states[first] == State::kNew) {
      states[first] = State::kBegun;
      stack.emplace_back(first, 0);
    }
    while (!stack.empty()) {
      auto& [index, done] = stack.back();
      if (done == earlier[index].size()) {
        states[index] = State::kDone;
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      const std::size_t next = earlier[index][done++];
      if (states[next] == State::kNew) {
        states[next] = State::kBegun;
        stack.emplace_back(next, 0);
      } else if (states[next] == State::kBegun && news[next].came_from) {
        news[*news[next].came_from].went_to.reset();
        news[next].came_from.reset();
      }
    }
  }
  return order;
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
