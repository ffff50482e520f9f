// edge: a change of several files that is killed anywhere is taken back whole, or has happened.
#include "agentbox/transaction.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "agentbox/change_set.h"
#include "agentbox/transaction_undo.h"
#include "support/catch.h"
#include "unit/agentbox/small_disk.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

namespace fs = std::filesystem;

// Every name below ROOT with its kind, mode, links and content.
std::map<std::string, std::string> picture(const std::string& root) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    struct stat info {};
    REQUIRE(::lstat(entry.path().c_str(), &info) == 0);
    std::string what = std::to_string(info.st_mode);
    if (S_ISREG(info.st_mode)) {
      what += " " + std::to_string(info.st_nlink) + " " + file_content(entry.path());
    } else if (S_ISLNK(info.st_mode)) {
      what += " " + fs::read_symlink(entry.path()).string();
    }
    all.emplace(entry.path().lexically_relative(root), what);
  }
  return all;
}

// In memory, where syncing costs nothing.
std::string memory() { return fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp"; }

struct Fixture {
  TemporaryFolder root;
  TemporaryFolder keep;
  std::unique_ptr<Workspace> workspace;

  explicit Fixture(const KernelFeatures& features = {.openat2 = true, .unnamed_files = true})
      : root(memory()), keep(memory()) {
    auto opened = Workspace::open({.workspace = root.path(), .output = {}, .features = features});
    REQUIRE(opened.ok());
    workspace = std::move(*opened);
  }
  [[nodiscard]] ChangeSet set() const {
    return {*workspace, [] { return false; }};
  }
  [[nodiscard]] static ChangeSet::Id find(ChangeSet& set, const std::string& path) {
    auto id = set.find({.relative = path}, false);
    REQUIRE(id.ok());
    return *id;
  }
  // The error's code, empty where it was carried out.
  std::string commit_plan(
      const ChangePlan& plan, const std::function<bool()>& cancelled = [] { return false; }) const {
    const auto error = commit(*workspace, keep.path(), plan, cancelled, -1);
    return error ? error->code : "";
  }
  std::string carry_out(const ChangeSet& set) const {
    const auto plan = set.plan();
    return plan.ok() ? commit_plan(*plan) : plan.error().code;
  }
  [[nodiscard]] std::vector<std::string> kept() const {
    return names_in(keep.path() + "/" + kJournalFolderName);
  }
};

// Every kind of step in one plan.
void fill(const Fixture& box) {
  put_file(box.root.at("replaced"), "old", 0640);
  put_file(box.root.at("linked"), "old links, and longer than what comes");
  REQUIRE(::link(box.root.at("linked").c_str(), box.root.at("second").c_str()) == 0);
  put_file(box.root.at("deleted"), "gone");
  put_file(box.root.at("tree/deep/file"), "gone too");
  put_file(box.root.at("moved"), "stays the same");
  put_file(box.root.at("edited-and-moved"), "before", 0755);
  put_file(box.root.at("left"), "l");
  put_file(box.root.at("right"), "r");
  put_file(box.root.at("mode"), "m", 0600);
  REQUIRE(::symlink("nowhere", box.root.at("link").c_str()) == 0);
}

ChangePlan every_kind(const Fixture& box) {
  ChangeSet set = box.set();
  const auto at = [&](const char* path) { return Fixture::find(set, path); };
  CHECK_FALSE(set.write(at("replaced"), "new", {}));
  CHECK_FALSE(set.write(at("linked"), "new links", {}));
  CHECK_FALSE(set.write(at("made/for/it"), "fresh", 0600));
  CHECK_FALSE(set.remove(at("deleted"), false));
  CHECK_FALSE(set.remove(at("tree"), true));
  CHECK_FALSE(set.move(at("moved"), at("away/here")));
  CHECK_FALSE(set.move(at("link"), at("away/link")));
  CHECK(set.content(at("edited-and-moved")).value() == "before");
  CHECK_FALSE(set.move(at("edited-and-moved"), at("after")));
  CHECK_FALSE(set.write(at("after"), "after", {}));
  CHECK_FALSE(set.move(at("left"), at("middle")));
  CHECK_FALSE(set.move(at("right"), at("left")));
  CHECK_FALSE(set.move(at("middle"), at("right")));
  CHECK_FALSE(set.set_mode(at("mode"), 0755));
  CHECK(set.make_folder(at("folder/deep"), 0700).value());
  auto plan = set.plan();
  REQUIRE(plan.ok());
  return *plan;
}

// A child that carries PLAN out and is killed at its system call number COUNT. False where it
// ended before.
bool killed_at(const Fixture& box, const ChangePlan& plan, int count) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    (void)::raise(SIGSTOP);
    const auto error = commit(
        *box.workspace, box.keep.path(), plan, [] { return false; }, -1);
    ::_exit(error ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  for (int stops = 0; WIFSTOPPED(status); ++stops) {
    if (stops == 2 * count) {  // one at its entry, one at its exit
      (void)::kill(child, SIGKILL);
    }
    (void)::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    if (::waitpid(child, &status, 0) != child) {
      break;
    }
  }
  if (WIFEXITED(status)) {
    CHECK(WEXITSTATUS(status) == 0);
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every kind of change happens, and nothing else") {
  for (const KernelFeatures& features : {KernelFeatures{.openat2 = true}, KernelFeatures{}}) {
    Fixture box(features);
    fill(box);
    CHECK(box.commit_plan(every_kind(box)).empty());
    CHECK(file_content(box.root.at("replaced")) == "new");
    CHECK(mode_of(box.root.at("replaced")) == 0640);
    CHECK(file_content(box.root.at("second")) == "new links");
    CHECK(file_content(box.root.at("made/for/it")) == "fresh");
    CHECK(mode_of(box.root.at("made/for/it")) == 0600);
    CHECK(file_content(box.root.at("away/here")) == "stays the same");
    CHECK(fs::read_symlink(box.root.at("away/link")) == "nowhere");
    CHECK(file_content(box.root.at("after")) == "after");
    CHECK(mode_of(box.root.at("after")) == 0755);
    CHECK(file_content(box.root.at("left")) == "r");
    CHECK(file_content(box.root.at("right")) == "l");
    CHECK(mode_of(box.root.at("mode")) == 0755);
    CHECK(mode_of(box.root.at("folder/deep")) == 0700);
    std::vector<std::string> names = names_in(box.root.path());
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"after", "away", "folder", "left", "linked", "made",
                                            "mode", "replaced", "right", "second"});
    CHECK(box.kept() == std::vector<std::string>{"lock"});
  }
}

TEST_CASE(
    "killed at one system call or another, after the next start it has all happened or none of "
    "it") {
  std::map<std::string, std::string> after;
  int taken_back = 0;
  int happened = 0;
  bool killed = true;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  const int stride = std::getenv("AGENTBOX_TEST_EVERY_KILL") != nullptr ? 1 : 4;
  for (int count = 0; killed; count += stride) {
    Fixture box;
    fill(box);
    const auto before = picture(box.root.path());
    killed = killed_at(box, every_kind(box), count);
    if (after.empty()) {
      Fixture other;
      fill(other);
      REQUIRE(other.commit_plan(every_kind(other)).empty());
      after = picture(other.root.path());
    }
    (void)recover_changes(*box.workspace, box.keep.path());
    const auto now = picture(box.root.path());
    INFO("killed at system call " << count);
    const bool none = now == before;
    if (!none) {
      CHECK(now == after);
    }
    taken_back += none ? 1 : 0;
    happened += none ? 0 : 1;
    if (fs::exists(box.keep.path() + "/" + kJournalFolderName)) {
      for (const std::string& name : box.kept()) {
        CHECK(name == "lock");
      }
    }
  }
  CHECK(taken_back > 20);
  CHECK(happened > 2);
}

TEST_CASE("a call that is cancelled in the middle takes everything back") {
  for (int at = 0; at < 40; ++at) {
    Fixture box;
    fill(box);
    const auto before = picture(box.root.path());
    const ChangePlan plan = every_kind(box);
    int asked = 0;
    const std::string code = box.commit_plan(plan, [&] { return asked++ == at; });
    if (code.empty()) {
      CHECK(at > 10);
      return;
    }
    CHECK(picture(box.root.path()) == before);
    CHECK(box.kept() == std::vector<std::string>{"lock"});
  }
  FAIL("it is asked more often than there are steps");
}

TEST_CASE("what was changed by somebody else meanwhile is left alone, with all the rest") {
  Fixture box;
  fill(box);
  const ChangePlan plan = every_kind(box);
  put_file(box.root.at("replaced"), "theirs");
  const auto before = picture(box.root.path());
  CHECK(box.commit_plan(plan) == "CONFLICT");
  CHECK(picture(box.root.path()) == before);
  const ChangePlan again = every_kind(box);
  put_file(box.root.at("after"), "taken");
  const auto now = picture(box.root.path());
  CHECK(box.commit_plan(again) == "CONFLICT");
  CHECK(picture(box.root.path()) == now);
}

TEST_CASE("a full disk is found before anything is changed") {
  Fixture box;
  fill(box);
  REQUIRE(::mkdir(box.root.at("small").c_str(), 0755) == 0);
  const SmallDisk disk(box.root.at("small"));
  if (!disk.mounted()) {
    WARN("skipped: only root can mount the small disk this test fills");
    return;
  }
  const auto before = picture(box.root.path());
  ChangeSet set = box.set();
  CHECK_FALSE(set.write(Fixture::find(set, "replaced"), "new", {}));
  CHECK_FALSE(set.write(Fixture::find(set, "small/a"), std::string(1 << 20, 'x'), {}));
  CHECK(box.carry_out(set) == "ENOSPC");
  CHECK(picture(box.root.path()) == before);
}

TEST_CASE("a move to another file system takes everything back and names the tool that can") {
  Fixture box;
  fill(box);
  REQUIRE(::mkdir(box.root.at("small").c_str(), 0755) == 0);
  const SmallDisk disk(box.root.at("small"));
  if (!disk.mounted()) {
    WARN("skipped: only root can mount the disk this test needs");
    return;
  }
  const auto before = picture(box.root.path());
  ChangeSet set = box.set();
  CHECK_FALSE(set.remove(Fixture::find(set, "deleted"), false));
  CHECK_FALSE(set.move(Fixture::find(set, "moved"), Fixture::find(set, "small/a")));
  CHECK(box.carry_out(set) == "EXDEV");
  CHECK(picture(box.root.path()) == before);
}

TEST_CASE("a folder is taken whole or its content is changed, not both at once") {
  Fixture box;
  fill(box);
  ChangeSet set = box.set();
  CHECK_FALSE(set.write(Fixture::find(set, "tree/deep/file"), "x", {}));
  CHECK_FALSE(set.move(Fixture::find(set, "tree"), Fixture::find(set, "wood")));
  CHECK(box.carry_out(set) == "INVALID_ARGUMENT");
  ChangeSet whole = box.set();
  CHECK(whole.remove(Fixture::find(whole, "tree"), false)->code == "EISDIR");
  CHECK_FALSE(whole.move(Fixture::find(whole, "tree"), Fixture::find(whole, "wood")));
  CHECK(box.carry_out(whole).empty());
  CHECK(file_content(box.root.at("wood/deep/file")) == "gone too");
}

TEST_CASE("a name stands for one file, however it is written") {
  Fixture box;
  fill(box);
  REQUIRE(::symlink("tree", box.root.at("way").c_str()) == 0);
  ChangeSet set = box.set();
  CHECK(Fixture::find(set, "way/deep/file") == Fixture::find(set, "tree/./deep/file"));
  CHECK(Fixture::find(set, "way/new/file") == Fixture::find(set, "tree/new/file"));
  TemporaryFolder outside;
  REQUIRE(::symlink(outside.path().c_str(), box.root.at("out").c_str()) == 0);
  const auto code = [&](const std::string& path) {
    const auto id = set.find({.relative = path}, true);
    return id.ok() ? "" : id.error().code;
  };
  CHECK(code("out/x") == "ESCAPE");
  CHECK(code("out/x/y") == "ESCAPE");
  CHECK(code("../x") == "ESCAPE");
  CHECK(code("missing/../../x") != "");
  CHECK(code("replaced/x") == "ENOTDIR");
  CHECK(code(".agentbox-tmp-x") == "INVALID_ARGUMENT");
}

TEST_CASE("a journal that agent code wrote changes nothing outside its own folder's reach") {
  Fixture box;
  fill(box);
  const auto before = picture(box.root.path());
  REQUIRE(::mkdir((box.keep.path() + "/" + kJournalFolderName).c_str(), 0700) == 0);
  put_file(box.keep.path() + "/" + kJournalFolderName + "/" + kArmedName, "{\"steps\":[]}");
  CHECK(recover_changes(*box.workspace, box.keep.path()).find("was none") != std::string::npos);
  CHECK(picture(box.root.path()) == before);
  CHECK(box.kept() == std::vector<std::string>{"lock"});
}
