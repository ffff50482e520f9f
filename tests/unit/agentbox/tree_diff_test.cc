// pure: what is told of names that are not what they were.
#include "agentbox/tree_diff.h"

#include <sys/stat.h>

#include <numeric>
#include <string>

#include "support/catch.h"

using namespace agentbox::mcp;

namespace {

FileState file(std::uint64_t inode, std::int64_t mtime = 1, std::int64_t size = 1) {
  return {.device = 1, .inode = inode, .mtime_ns = mtime, .size = size, .mode = S_IFREG | 0644};
}
FileState folder(std::uint64_t inode) {
  return {.device = 1, .inode = inode, .mode = S_IFDIR | 0755};
}

using State = std::optional<FileState>;
NameNews news(const std::string& path, State before, State now) {
  return {.path = path, .before = before, .now = now};
}

// "+ a", "- b", "> a -> b", ... of all of them.
std::vector<std::string> told(std::vector<NameNews> all) {
  match_moves(all);
  std::vector<std::size_t> base(all.size());
  std::iota(base.begin(), base.end(), 0);
  std::vector<std::string> words;
  for (const std::size_t i : tell_order(all, base)) {
    for (const FileChange& change : changes_of(all, i)) {
      words.push_back(std::string(change_op_name(change.op)) + " " +
                      (change.old_path.empty() ? "" : change.old_path + " ") + change.path);
    }
  }
  return words;
}
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("names come, go, and are written") {
  CHECK(told({news("a", {}, file(1))}) == Words{"create a"});
  CHECK(told({news("a", file(1), {})}) == Words{"delete a"});
  CHECK(told({news("a", file(1, 1), file(1, 2))}) == Words{"modify a"});
  CHECK(told({news("a", file(1), file(1))}).empty());
  CHECK(told({news("a", {}, {})}).empty());
  NameNews written = news("a", file(1), file(1));
  written.written = true;  // within the clock's grain nothing else shows it
  CHECK(told({written}) == Words{"modify a"});
}

TEST_CASE("a file that takes the name of another is a change of that name") {
  CHECK(told({news("a", file(1), file(2))}) == Words{"modify a"});
  CHECK(told({news("a", file(1), folder(2))}) == (Words{"delete a", "create a"}));
  CHECK(told({news("a", folder(1), folder(2))}) == (Words{"delete a", "create a"}));
}

TEST_CASE("mode and owner are told of where the content is the same") {
  FileState other = file(1);
  other.mode = S_IFREG | 0600;
  CHECK(told({news("a", file(1), other)}) == Words{"attrib a"});
  other.mtime_ns = 9;
  CHECK(told({news("a", file(1), other)}) == Words{"modify a"});
}

TEST_CASE("what a folder holds changes the folder's time, which is no news") {
  FileState later = folder(1);
  later.mtime_ns = 9;
  later.size = 9;
  CHECK(is_no_news(news("d", folder(1), later)));
  later.mode = S_IFDIR | 0700;
  CHECK(told({news("d", folder(1), later)}) == Words{"attrib d"});
}

TEST_CASE("a name that went and a name that came are a move where they mean the same file") {
  CHECK(told({news("a", file(1), {}), news("b", {}, file(1))}) == Words{"move a b"});
  CHECK(told({news("b", {}, file(1)), news("a", file(1), {})}) == Words{"move a b"});
  CHECK(told({news("d", folder(1), {}), news("e", {}, folder(1))}) == Words{"move d e"});
  // A number of a file that is used again is no move.
  CHECK(told({news("a", file(1, 1), {}), news("b", {}, file(1, 2))}) ==
        (Words{"delete a", "create b"}));
  CHECK(told({news("a", file(1), {}), news("b", {}, folder(1))}) ==
        (Words{"delete a", "create b"}));
}

TEST_CASE("where the kernel speaks of renames the content may differ") {
  NameNews from = news("a", file(1, 1), {});
  NameNews to = news("b", {}, file(1, 2));
  from.renamed = to.renamed = true;
  CHECK(told({from, to}) == (Words{"move a b", "modify b"}));
}

TEST_CASE("a move over another file, and a new file under the old name") {
  CHECK(told({news("a", file(1), {}), news("b", file(2), file(1))}) == Words{"move a b"});
  CHECK(told({news("log", file(1), file(2)), news("log.1", {}, file(1))}) ==
        (Words{"move log log.1", "create log"}));
}

TEST_CASE("names that changed places are told so that step by step it comes out right") {
  CHECK(told({news("a", file(1), file(2)), news("b", file(2), file(1))}) ==
        (Words{"move a b", "create a"}));
  CHECK(told({news("a", file(1), file(3)), news("b", file(2), file(1)),
              news("c", file(3), file(2))}) == (Words{"move b c", "move a b", "create a"}));
  // A chain is no circle.
  CHECK(told({news("a", file(1), {}), news("b", file(2), file(1)), news("c", {}, file(2))}) ==
        (Words{"move b c", "move a b"}));
}

TEST_CASE("what left a folder is told before the folder goes") {
  CHECK(told({news("d", folder(1), {}), news("d/f", file(2), {}), news("f", {}, file(2))}) ==
        (Words{"move d/f f", "delete d"}));
  CHECK(told({news("e", {}, folder(1)), news("d", folder(1), {}), news("d/x/f", file(2), {}),
              news("f", {}, file(2))}) == (Words{"move d/x/f f", "move d e"}));
}

TEST_CASE("a hidden name is not told of, whichever end of a move it is") {
  NameNews hidden_from = news("x", file(1), {});
  hidden_from.was_shown = false;
  CHECK(told({hidden_from, news("b", {}, file(1))}) == Words{"create b"});
  CHECK(told({hidden_from, news("b", file(2), file(1))}) == Words{"modify b"});
  NameNews hidden_to = news("x", {}, file(1));
  hidden_to.shown = false;
  CHECK(told({news("a", file(1), {}), hidden_to}) == Words{"delete a"});
}

TEST_CASE("a second name of a file is a new name") {
  CHECK(told({news("b", {}, file(1))}) == Words{"create b"});
  CHECK(told({news("a", file(1), {}), news("b", {}, file(1)), news("c", {}, file(1))}) ==
        (Words{"move a b", "create c"}));
}
