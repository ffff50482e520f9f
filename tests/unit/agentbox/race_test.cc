// edge: links that change under the file tools' hands, as hostile code of the same box makes them.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

constexpr KernelFeatures kAll{.openat2 = true, .unnamed_files = true, .inotify = true};
constexpr KernelFeatures kNone{};
// For both sets of features together well below ten seconds.
constexpr std::chrono::milliseconds kAttackTime{3500};

// Swaps the name "d" and a file in it between what is inside and what is not, as fast as it can.
class Attacker {
 public:
  Attacker(std::string root, std::string outside)
      : root_(std::move(root)), outside_(std::move(outside)), thread_([this] { run(); }) {}
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;
  ~Attacker() {
    stop_ = true;
    thread_.join();
  }

 private:
  void run() {
    const std::string link = root_ + "/out";
    const std::string folder = root_ + "/d";
    const std::string file = root_ + "/real/v";
    (void)!::symlink(outside_.c_str(), link.c_str());
    while (!stop_) {
      // The two names change places in one step: neither is ever missing.
      constexpr unsigned kExchange = 2;
      for (int i = 0; i < 50; ++i) {
        (void)::syscall(SYS_renameat2, AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), kExchange);
      }
      (void)::unlink(file.c_str());
      (void)!::symlink((outside_ + "/v").c_str(), file.c_str());
      (void)::unlink(file.c_str());
      { std::ofstream(file) << "inside"; }
      (void)::mkdir(folder.c_str(), 0755);
    }
  }

  std::string root_;
  std::string outside_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

std::map<std::string, std::string> content_of(const TemporaryFolder& folder) {
  std::map<std::string, std::string> content;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    content[entry.path()] = std::to_string(mode_of(entry.path())) + " " +
                            (entry.is_regular_file() ? file_content(entry.path()) : "");
  }
  return content;
}

}  // namespace

TEST_CASE("links that change while file tools run lead them nowhere outside") {
  for (const auto& features : {kAll, kNone}) {
    ToolFixture box;
    box.box().workspace =
        Workspace::open({.workspace = box.root(), .output = box.output(), .features = features})
            .value();
    TemporaryFolder outside;
    put_file(outside.at("v"), "secret");
    put_file(outside.at("only-outside/secret"), "secret");
    put_file(box.at("d/v"), "inside");
    put_file(box.at("d/sub/v"), "inside");
    put_file(box.at("real/v"), "inside");
    const auto before = content_of(outside);

    const std::vector<std::pair<Tool, std::string>> calls{
        {read_file_tool(), R"({"path":"d/v"})"},
        {read_file_tool(), R"({"path":"real/v"})"},
        {tail_log_tool(), R"({"path":"d/v","start_offset":0,"follow_seconds":0})"},
        {read_media_tool(), R"({"path":"d/v"})"},
        {read_files_tool(), R"({"paths":["d/v","real/v","d/sub/v"]})"},
        {read_blob_tool(), R"({"name":"d/v"})"},
        {list_directory_tool(), R"({"path":"d"})"},
        {list_directory_tool(), R"({"depth":5})"},
        {glob_files_tool(), R"({"pattern":"**","path":"d"})"},
        {file_info_tool(), R"({"path":"d/only-outside"})"},
        {write_file_tool(), R"({"path":"d/v","content":"agent","fsync":false})"},
        {write_file_tool(), R"({"path":"real/v","content":"agent","fsync":false})"},
        {write_file_tool(), R"({"path":"d/new/x","content":"agent","fsync":false})"},
        {create_directory_tool(), R"({"path":"d/made/here"})"},
        {move_file_tool(), R"({"source":"d/v","destination":"moved"})"},
        {move_file_tool(), R"({"source":"moved","destination":"d/v"})"},
        {copy_file_tool(), R"({"source":"d/v","destination":"copy","overwrite":true})"},
        {copy_file_tool(), R"({"source":"real/v","destination":"d/copy","overwrite":true})"},
        {copy_file_tool(), R"({"source":"d","destination":"tree","recursive":true})"},
        {set_permissions_tool(), R"({"path":"d","mode":"0755","recursive":true})"},
        {set_permissions_tool(), R"({"path":"d/v","mode":"0644"})"},
        {delete_file_tool(), R"({"path":"tree","recursive":true})"},
        {delete_file_tool(), R"({"path":"d/v"})"},
        {delete_file_tool(), R"({"path":"d/only-outside","recursive":true})"},
        {delete_file_tool(), R"({"path":"d/new","recursive":true})"},
    };
    std::size_t worked = 0;
    std::size_t escaped = 0;
    std::string leaked;
    {
      const Attacker attacker(box.root(), outside.path());
      const auto end = std::chrono::steady_clock::now() + kAttackTime;
      while (std::chrono::steady_clock::now() < end) {
        for (const auto& [tool, arguments] : calls) {
          const ToolResult result = box.call(tool, arguments);
          worked += result.error ? 0U : 1U;
          escaped += result.error && result.error->code == "ESCAPE" ? 1U : 0U;
          const std::string shown =
              dump_json(OrderedJson(result.texts)) + dump_json(result.structured);
          const bool seen =
              tool.name == "file_info" && !result.error && result.structured["exists"] == true;
          if (seen || shown.find("secret") != std::string::npos ||
              (shown.find("only-outside") != std::string::npos && tool.name != "file_info")) {
            leaked = std::string(tool.name) + ": " + shown;
          }
        }
      }
    }
    CHECK(leaked.empty());
    CHECK(content_of(outside) == before);
    // Else nothing was tried.
    CHECK(worked > 0);
    CHECK(escaped > 0);
  }
}
