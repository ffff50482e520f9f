// edge: what is told of a tree that changes, with the kernel's notices and without.
#include "agentbox/tree_watch.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/deadline.h"
#include "support/catch.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr KernelFeatures kAll{.openat2 = true, .unnamed_files = true, .inotify = true};
constexpr KernelFeatures kNone{};
// Long enough for any machine; nothing waits so long unless it is broken.
constexpr std::chrono::seconds kPatience{30};
using Words = std::vector<std::string>;

TreeWatch::Options quick() {
  TreeWatch::Options options;
  options.debounce = 20ms;
  options.scan_interval = 20ms;
  return options;
}

WatchFilter filter(const std::vector<std::string>& include,
                   const std::vector<std::string>& exclude) {
  return std::move(WatchFilter::compile(include, exclude)).value();
}

class Tree {
 public:
  explicit Tree(const KernelFeatures& features) {
    auto opened = Workspace::open({.workspace = root_.path(), .output = {}, .features = features});
    REQUIRE(opened.ok());
    workspace_ = std::move(*opened);
  }
  void begin(const std::string& path = ".", TreeWatch::Options options = quick()) {
    auto opened = TreeWatch::open(*workspace_, {.relative = path}, std::move(options));
    INFO((opened.ok() ? "" : opened.error().message));
    REQUIRE(opened.ok());
    watch_ = std::move(*opened);
  }
  std::string error_of(const std::string& path, TreeWatch::Options options = quick()) {
    auto opened = TreeWatch::open(*workspace_, {.relative = path}, std::move(options));
    return opened.ok() ? "" : opened.error().code;
  }
  // What changed up to now.
  Words now() {
    std::vector<FileChange> changes;
    watch_->take_all(std::chrono::steady_clock::now(), changes);
    return words(changes);
  }
  // The same in alphabetical order.
  Words sorted() {
    Words all = now();
    std::sort(all.begin(), all.end());
    return all;
  }
  // Waits as a program does that polls, until IS_ENOUGH.
  Words wait(const std::function<bool(const Words&)>& is_enough) {
    std::vector<FileChange> changes;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!is_enough(words(changes)) && std::chrono::steady_clock::now() < end) {
      const auto now = std::chrono::steady_clock::now();
      pollfd polled{.fd = watch_->fd(), .events = POLLIN, .revents = 0};
      (void)::poll(&polled, 1, poll_timeout(std::min(end, watch_->deadline()), now));
      watch_->take(std::chrono::steady_clock::now(), changes);
    }
    return words(changes);
  }
  Words wait_for(std::size_t count) {
    return wait([count](const Words& all) { return all.size() >= count; });
  }

  [[nodiscard]] std::string at(std::string_view name) const { return root_.at(name); }
  [[nodiscard]] TreeWatch& watch() { return *watch_; }
  void put(std::string_view name, std::string_view content = "x") const {
    put_file(at(name), content);
  }
  void move(std::string_view from, std::string_view to) const {
    REQUIRE(::rename(at(from).c_str(), at(to).c_str()) == 0);
  }

 private:
  static Words words(const std::vector<FileChange>& changes) {
    Words words;
    for (const FileChange& change : changes) {
      words.push_back(std::string(change_op_name(change.op)) + " " +
                      (change.old_path.empty() ? "" : change.old_path + " -> ") + change.path);
    }
    return words;
  }

  TemporaryFolder root_;
  std::unique_ptr<Workspace> workspace_;
  std::unique_ptr<TreeWatch> watch_;
};

}  // namespace

TEST_CASE("files made, written, moved and removed in a tree are told of") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("old");
    tree.put("d/kept");
    tree.begin();
    CHECK(tree.watch().has_notices() == features.inotify);
    CHECK(tree.now().empty());
    tree.put("new");
    CHECK(tree.now() == Words{"create new"});
    tree.put("new", "more");
    CHECK(tree.now() == Words{"modify new"});
    tree.move("new", "d/newer");
    CHECK(tree.now() == Words{"move new -> d/newer"});
    REQUIRE(::chmod(tree.at("old").c_str(), 0600) == 0);
    CHECK(tree.now() == Words{"attrib old"});
    REQUIRE(::unlink(tree.at("d/newer").c_str()) == 0);
    CHECK(tree.now() == Words{"delete d/newer"});
    CHECK(tree.now().empty());
  }
}

TEST_CASE("moving in is a create, moving out a delete, of folders with what they hold") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("in/a");
    tree.put("out/f");
    tree.put("out/d/x/y");
    tree.begin("in");
    tree.move("out/f", "in/f");
    CHECK(tree.now() == Words{"create f"});
    tree.move("out/d", "in/d");
    CHECK(tree.now() == (Words{"create d", "create d/x", "create d/x/y"}));
    tree.put("in/d/x/y", "more");
    CHECK(tree.now() == Words{"modify d/x/y"});
    tree.move("in/f", "out/f");
    tree.move("in/d", "out/d");
    CHECK(tree.sorted() == (Words{"delete d", "delete f"}));
    tree.put("out/d/x/y", "even more");
    CHECK(tree.now().empty());
  }
}

TEST_CASE("new folders are watched at once, and what was in them before is told") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.begin();
    tree.put("a/b/c/d/e/file");
    CHECK(tree.now() == (Words{"create a", "create a/b", "create a/b/c", "create a/b/c/d",
                               "create a/b/c/d/e", "create a/b/c/d/e/file"}));
    tree.put("a/b/c/d/e/later");
    CHECK(tree.now() == Words{"create a/b/c/d/e/later"});
    tree.put("a/b/x/y");
    CHECK(tree.now() == (Words{"create a/b/x", "create a/b/x/y"}));
  }
}

TEST_CASE("changes within a window are merged name by name") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("same");
    tree.put("again");
    tree.begin();
    tree.put("made");
    tree.put("made", "and written");
    for (int i = 0; i < 10; ++i) {
      tree.put("same", std::to_string(i) + " times");
    }
    tree.put("brief");
    fs::remove(tree.at("brief"));
    fs::remove(tree.at("again"));
    tree.put("again", "another");
    CHECK(tree.sorted() == (Words{"create made", "modify again", "modify same"}));
  }
}

TEST_CASE("an editor's save by rename is one change of the file's name") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("doc", "old");
    tree.begin();
    tree.put("doc.swp", "new");
    tree.move("doc.swp", "doc");
    CHECK(tree.now() == Words{"modify doc"});
    // With a backup of the old file.
    tree.move("doc", "doc~");
    tree.put("doc", "newer");
    CHECK(tree.sorted() == (Words{"create doc", "move doc -> doc~"}));
  }
}

TEST_CASE("unfinished writes never show, in any window") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("doc", "old");
    tree.begin();
    const std::string temporary = std::string(kTemporaryPrefix) + "0123";
    tree.put(temporary, "new");
    CHECK(tree.now().empty());
    tree.move(temporary, "doc");
    CHECK(tree.now() == Words{"modify doc"});
    tree.put(temporary, "new");
    CHECK(tree.now().empty());
    tree.move(temporary, "other");
    CHECK(tree.now() == Words{"create other"});
  }
}

TEST_CASE("a folder that is renamed takes its paths along") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("a/b/f");
    tree.put("z/g");
    tree.begin();
    tree.move("a", "z/c");
    CHECK(tree.now() == Words{"move a -> z/c"});
    tree.put("z/c/b/f", "more");
    tree.put("z/c/b/new");
    CHECK(tree.sorted() == (Words{"create z/c/b/new", "modify z/c/b/f"}));
    // Written to and renamed in one window.
    tree.put("z/c/b/f", "even more");
    tree.move("z/c", "d");
    auto both = tree.sorted();
    for (auto more = tree.sorted(); !more.empty(); more = tree.sorted()) {
      both.insert(both.end(), more.begin(), more.end());
    }
    std::sort(both.begin(), both.end());
    CHECK(both == (Words{"modify d/b/f", "move z/c -> d"}));
  }
}

TEST_CASE("a removed folder speaks for what was in it") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("a/b/f");
    tree.put("a/g");
    tree.begin();
    fs::remove_all(tree.at("a"));
    CHECK(tree.now() == Words{"delete a"});
    tree.put("a/b/f");
    CHECK(tree.now() == (Words{"create a", "create a/b", "create a/b/f"}));
    fs::remove_all(tree.at("a"));
    tree.put("a/b/g", "longer");
    const auto replaced = tree.sorted();
    // A file system may give the same numbers again: then they are the same folders.
    CHECK(std::find(replaced.begin(), replaced.end(), "create a/b/g") != replaced.end());
    tree.put("a/b/h");
    CHECK(tree.now() == Words{"create a/b/h"});
  }
}

TEST_CASE("links are names like others and are never followed") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    TemporaryFolder outside;
    put_file(outside.at("secret"), "x");
    tree.put("d/f");
    tree.begin();
    fs::create_symlink(outside.path(), tree.at("out"));
    fs::create_symlink("d", tree.at("in"));
    CHECK(tree.sorted() == (Words{"create in", "create out"}));
    put_file(outside.at("secret"), "more");
    put_file(outside.at("new"), "more");
    CHECK(tree.now().empty());
    tree.put("d/f", "more");
    CHECK(tree.now() == Words{"modify d/f"});
    // A folder that becomes a link.
    fs::remove_all(tree.at("d"));
    fs::create_symlink(outside.path(), tree.at("d"));
    CHECK(tree.now() == (Words{"delete d", "create d"}));
    put_file(outside.at("newer"), "x");
    CHECK(tree.now().empty());
  }
}

TEST_CASE("without recursive only the names in the folder are told of") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("d/f");
    auto options = quick();
    options.recursive = false;
    tree.begin(".", std::move(options));
    tree.put("d/f", "more");
    tree.put("d/new");
    tree.put("e/new");
    tree.put("top");
    CHECK(tree.sorted() == (Words{"create e", "create top"}));
  }
}

TEST_CASE("one file is watched by its name") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("d/f", "old");
    tree.put("d/other");
    fs::create_symlink("d/f", tree.at("link"));
    for (const std::string path : {"d/f", "link"}) {
      tree.put("d/f", "old");
      tree.begin(path);
      CHECK(tree.watch().top().relative == (path == "link" ? "./d" : "d"));
      CHECK(tree.watch().only_name() == "f");
      tree.put("d/other", "more");
      tree.put("d/f", "more");
      CHECK(tree.now() == Words{"modify f"});
      tree.put("d/f.new", "more");
      tree.move("d/f.new", "d/f");
      CHECK(tree.now() == Words{"modify f"});
      fs::remove(tree.at("d/f"));
      CHECK(tree.now() == Words{"delete f"});
      tree.put("d/f");
      CHECK(tree.now() == Words{"create f"});
      fs::rename(tree.at("d"), tree.at("gone"));
      CHECK(tree.now() == Words{"delete f"});
      fs::rename(tree.at("gone"), tree.at("d"));
      CHECK(tree.now() == Words{"create f"});
    }
  }
}

TEST_CASE("a watched folder may go and come back") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("build/out/a");
    tree.begin("build/out");
    fs::remove_all(tree.at("build"));
    CHECK(tree.now() == Words{"delete "});
    CHECK(tree.now().empty());
    tree.put("build/out/b");
    CHECK(tree.now() == (Words{"create ", "create b"}));
    tree.put("build/out/b", "more");
    CHECK(tree.now() == Words{"modify b"});
    // One above it is replaced.
    tree.move("build", "before");
    tree.put("build/out/c");
    CHECK(tree.now() == (Words{"delete ", "create ", "create c"}));
    tree.put("before/out/b", "stale");
    CHECK(tree.now().empty());
  }
}

TEST_CASE("what is excluded is not told of and not watched") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("node_modules/a/b");
    tree.put("src/x");
    auto options = quick();
    options.filter = filter({}, default_excludes());
    tree.begin(".", std::move(options));
    CHECK(tree.watch().folder_count() == 2);
    tree.put("node_modules/a/b", "more");
    tree.put("src/node_modules/c");
    tree.put("src/x", "more");
    CHECK(tree.sorted() == (Words{"create src/node_modules", "modify src/x"}));
    tree.move("src/x", "node_modules/x");
    CHECK(tree.now() == Words{"delete src/x"});
    tree.move("node_modules/a", "a");
    CHECK(tree.now() == (Words{"create a", "create a/b"}));
    tree.move("a", "src/node_modules/a");
    CHECK(tree.now() == Words{"delete a"});
  }
}

TEST_CASE("what is included alone is told of, folders that go or move having it in them") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("p/a.py");
    tree.put("p/a.txt");
    tree.put("p/q/b.py");
    auto options = quick();
    options.filter = filter({"**/*.py"}, {});
    tree.begin(".", std::move(options));
    tree.put("p/a.txt", "more");
    tree.put("new/c.py");
    CHECK(tree.now() == Words{"create new/c.py"});
    tree.move("p/a.txt", "p/a2.py");
    CHECK(tree.now() == Words{"create p/a2.py"});
    tree.move("p", "r");
    CHECK(tree.sorted() == (Words{"create r/a.py", "create r/a2.py", "create r/q/b.py",
                                  "delete p/a.py", "delete p/a2.py", "delete p/q/b.py"}));
    fs::remove_all(tree.at("r"));
    CHECK(tree.sorted() == (Words{"delete r/a.py", "delete r/a2.py", "delete r/q/b.py"}));
  }
}

TEST_CASE("whoever polls is woken when a window is over") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.begin();
    tree.put("a");
    tree.put("b/c");
    CHECK(tree.wait_for(3).size() == 3);
    fs::remove(tree.at("a"));
    CHECK(tree.wait_for(1) == Words{"delete a"});
  }
}

TEST_CASE("whoever polls hears that a folder above the watched one went") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    tree.put("build/out/a");
    tree.begin("build/out");
    tree.move("build", "before");
    CHECK(tree.wait_for(1) == Words{"delete "});
    tree.move("before", "build");
    CHECK(tree.wait_for(2) == (Words{"create ", "create a"}));
  }
}

TEST_CASE("a full queue of the kernel loses nothing but is told of") {
  Tree tree(kAll);
  tree.put("d/f");
  tree.begin();
  // More notices than the kernel keeps, no two alike in a row.
  for (int i = 0; i < 20'000; ++i) {
    REQUIRE(::chmod(tree.at("d/f").c_str(), 0600) == 0);
    REQUIRE(::chmod(tree.at("d").c_str(), 0755) == 0);
  }
  tree.put("e/late");
  tree.put("d/late");
  const Words all = tree.now();
  REQUIRE(!all.empty());
  CHECK(all.front() == "overflow ");
  for (const char* const wanted : {"create d/late", "create e", "create e/late", "attrib d/f"}) {
    INFO(wanted);
    CHECK(std::count(all.begin(), all.end(), wanted) == 1);
  }
  tree.put("e/later");
  CHECK(tree.now() == Words{"create e/later"});
}

TEST_CASE("a tree that is too large is refused, one that becomes so ends its watch") {
  for (const auto& features : {kAll, kNone}) {
    Tree tree(features);
    for (const char* const name : {"a/1", "b/2", "c/3"}) {
      tree.put(name);
    }
    auto options = quick();
    options.max_folders = 3;
    CHECK(tree.error_of(".", options) == "WATCH_LIMIT");
    options.max_folders = 4;
    options.max_names = 5;
    CHECK(tree.error_of(".", options) == "WATCH_LIMIT");
    options.max_names = 100;
    tree.begin(".", options);
    REQUIRE(!tree.watch().ended());
    fs::create_directory(tree.at("d"));
    (void)tree.wait([&](const Words&) { return tree.watch().ended().has_value(); });
    REQUIRE(tree.watch().ended());
    CHECK(tree.watch().ended()->code == "WATCH_LIMIT");
    CHECK(tree.watch().fd() == -1);
    tree.put("more");
    CHECK(tree.now().empty());
  }
}

TEST_CASE("folders without end within folders end the watch") {
  Tree tree(kAll);
  tree.begin();
  std::string path = tree.at("d");
  for (std::size_t i = 0; i < kMaxWatchedDepth + 2; ++i) {
    fs::create_directory(path);
    path += "/d";
  }
  (void)tree.now();
  REQUIRE(tree.watch().ended());
  CHECK(tree.watch().ended()->message.find("deep") != std::string::npos);
}

TEST_CASE("a watch of what is not there, or not in the workspace, says why") {
  Tree tree(kAll);
  fs::create_symlink("/etc", tree.at("out"));
  REQUIRE(::mkfifo(tree.at("fifo").c_str(), 0600) == 0);
  CHECK(tree.error_of("nope") == "ENOENT");
  CHECK(tree.error_of("out") == "ESCAPE");
  CHECK(tree.error_of("..") == "ESCAPE");
  CHECK(tree.error_of("fifo") == "INVALID_ARGUMENT");
}
