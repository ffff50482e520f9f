// edge: what list_directory and glob_files see of a tree, file_info and create_directory of a path,
// read_files of many.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <set>

#include "agentbox/limits.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

std::string json_text(const std::string& text) { return dump_json(OrderedJson(text)); }

using Names = std::vector<std::string>;

Names listed(ToolFixture& box, const std::string& arguments) {
  Names names;
  const auto json = box.structured(list_directory_tool(), arguments);
  for (const auto& entry : json["entries"]) {
    names.push_back(entry["name"]);
  }
  return names;
}

Names found(ToolFixture& box, const std::string& arguments) {
  return box.structured(glob_files_tool(), arguments)["matches"].get<Names>();
}

void make_tree(const ToolFixture& box) {
  put_file(box.at(".gitignore"), "*.log\nbuild/\n/top-only\n");
  put_file(box.at("a.log"), "");
  put_file(box.at("top-only"), "");
  put_file(box.at("build/x"), "");
  put_file(box.at("src/a.cc"), "12");
  put_file(box.at("src/b.h"), "1");
  put_file(box.at("src/top-only"), "");
  put_file(box.at("src/sub/.gitignore"), "!wanted.log\nlocal\n");
  put_file(box.at("src/sub/wanted.log"), "");
  put_file(box.at("src/sub/other.log"), "");
  put_file(box.at("src/sub/local"), "");
  put_file(box.at("src/sub/c.cc"), "123");
}

}  // namespace

TEST_CASE("a deep listing leaves out what .gitignore files name, a flat one shows all") {
  ToolFixture box;
  make_tree(box);
  CHECK(listed(box, "{}") == Names{"a.log", "build", "src", "top-only"});
  CHECK(listed(box, R"({"depth":5})") == Names{"src", "src/a.cc", "src/b.h", "src/sub",
                                               "src/sub/c.cc", "src/sub/wanted.log",
                                               "src/top-only"});
  CHECK(listed(box, R"({"depth":5,"respect_gitignore":false})").size() == 13);
  // The rules of the folders above count too, wherever the listing begins.
  CHECK(listed(box, R"({"path":"src/sub","depth":2})") == Names{"c.cc", "wanted.log"});
  CHECK(listed(box, R"({"path":"./src//sub/","depth":2})") == Names{"c.cc", "wanted.log"});
  CHECK(listed(box, R"({"path":"build","depth":2})") == Names{"x"});
}

TEST_CASE("a .gitignore that is a link, a FIFO or a folder is no .gitignore") {
  ToolFixture box;
  TemporaryFolder outside;
  put_file(outside.at("rules"), "*\n");
  put_file(box.at("a/f"), "");
  put_file(box.at("b/f"), "");
  put_file(box.at("c/f"), "");
  REQUIRE(::symlink(outside.at("rules").c_str(), box.at("a/.gitignore").c_str()) == 0);
  REQUIRE(::mkfifo(box.at("b/.gitignore").c_str(), 0600) == 0);
  REQUIRE(::mkdir(box.at("c/.gitignore").c_str(), 0700) == 0);
  CHECK(listed(box, R"({"depth":2})") == Names{"a", "a/f", "b", "b/f", "c", "c/f"});
}

TEST_CASE("files are found by patterns, newest first, with their paths from the root") {
  ToolFixture box;
  make_tree(box);
  const std::array<timespec, 2> old{timespec{.tv_sec = 1000, .tv_nsec = 0},
                                    timespec{.tv_sec = 1000, .tv_nsec = 0}};
  REQUIRE(::utimensat(AT_FDCWD, box.at("src/a.cc").c_str(), old.data(), 0) == 0);
  CHECK(found(box, R"({"pattern":"**/*.cc"})") == Names{"src/sub/c.cc", "src/a.cc"});
  CHECK(found(box, R"({"pattern":"**/*.{cc,h}","sort":"name"})") ==
        Names{"src/a.cc", "src/b.h", "src/sub/c.cc"});
  CHECK(found(box, R"({"pattern":"**/*.{cc,h}","sort":"size"})") ==
        Names{"src/sub/c.cc", "src/a.cc", "src/b.h"});
  CHECK(found(box, R"({"pattern":"*.cc","path":"src"})") == Names{"src/a.cc"});
  CHECK(found(box, R"({"pattern":"**/*.cc","exclude":["**/sub/**"]})") == Names{"src/a.cc"});
  CHECK(found(box, R"({"pattern":"**/*.log","sort":"name"})") == Names{"src/sub/wanted.log"});
  CHECK(found(box, R"({"pattern":"**/*.log","respect_gitignore":false})").size() == 3);
  CHECK(found(box, R"({"pattern":"**","type":"directory","sort":"name"})") ==
        Names{"src", "src/sub"});
  CHECK(found(box, R"({"pattern":"**/c.cc","max_depth":2})").empty());
  const auto cut = box.structured(glob_files_tool(), R"({"pattern":"**/*.cc","limit":1})");
  CHECK(cut["matches"].size() == 1);
  CHECK(cut["total"] == 2);
  CHECK(cut["truncated"] == true);
  CHECK(box.text(glob_files_tool(), R"({"pattern":"**/b.h"})") ==
        "path: " + box.root() + "\ntotal: 1\n--- matches ---\nsrc/b.h\n");
  CHECK(box.code(glob_files_tool(), R"({"pattern":"[a"})") == "BAD_PATTERN");
  CHECK(box.code(glob_files_tool(), R"({"pattern":"*","path":"nope"})") == "ENOENT");
  CHECK(box.code(glob_files_tool(), R"({"pattern":"*","path":"src/a.cc"})") == "ENOTDIR");
  CHECK(box.code(glob_files_tool(), R"({"pattern":"*","path":"/etc"})") == "ESCAPE");
}

TEST_CASE("what is found can be read by the name it was found by, whatever bytes that has") {
  ToolFixture box;
  put_file(box.at("d\xff/na\nme"), "content");
  const Names names = found(box, R"({"pattern":"**/na*"})");
  REQUIRE(names.size() == 1);
  CHECK(is_utf8(names.front()));
  CHECK(box.structured(read_file_tool(),
                       R"({"path":)" + json_text(names.front()) + "}")["content"] == "content");
  const Names below = found(box, R"({"pattern":"na*","path":"\"d\\377\""})");
  CHECK(below == names);
}

TEST_CASE("a path is described, a missing one too, a link itself or on request what it leads to") {
  ToolFixture box;
  put_file(box.at("f.py"), "print()\nx\n", 0640);
  put_file(box.at("b"), std::string("\x00\x01", 2));
  REQUIRE(::symlink("f.py", box.at("l").c_str()) == 0);
  REQUIRE(::symlink("/etc/hostname", box.at("out").c_str()) == 0);
  const auto info = [&](const std::string& arguments) {
    return box.structured(file_info_tool(), arguments);
  };
  const auto file = info(R"({"path":"f.py","sha256":true})");
  CHECK(file["exists"] == true);
  CHECK(file["type"] == "file");
  CHECK(file["size"] == 10);
  CHECK(file["mode"] == "0640");
  CHECK(file["uid"] == ::getuid());
  CHECK(file["mime_type"] == "text/x-python");
  CHECK(file["binary"] == false);
  CHECK(file["line_count"] == 2);
  CHECK(file["sha256"] == sha256_hex("print()\nx\n"));
  CHECK(!info(R"({"path":"f.py"})").contains("sha256"));
  const auto binary = info(R"({"path":"b"})");
  CHECK(binary["binary"] == true);
  CHECK(!binary.contains("line_count"));
  const auto link = info(R"({"path":"l"})");
  CHECK(link["type"] == "symlink");
  CHECK(link["target"] == "f.py");
  CHECK(info(R"({"path":"l","follow":true})")["type"] == "file");
  CHECK(info(R"({"path":"out"})")["target"] == "/etc/hostname");
  CHECK(box.code(file_info_tool(), R"({"path":"out","follow":true})") == "ESCAPE");
  CHECK(info(R"({"path":"."})")["type"] == "directory");
  CHECK(dump_json(info(R"({"path":"nope"})")) ==
        R"({"path":")" + box.at("nope") + R"(","exists":false})");
  CHECK(info(R"({"path":"f.py/x"})")["exists"] == false);
  CHECK(box.code(file_info_tool(), R"({"path":"/etc/hostname"})") == "ESCAPE");
}

TEST_CASE("a folder is made with those above it, once") {
  ToolFixture box;
  put_file(box.at("f"), "");
  REQUIRE(::symlink("a", box.at("l").c_str()) == 0);
  const auto make = [&](const std::string& arguments) {
    return box.structured(create_directory_tool(), arguments)["created"].get<bool>();
  };
  CHECK(make(R"({"path":"a/b/c","mode":"2770"})"));
  CHECK(mode_of(box.at("a/b/c")) == 02770);
  CHECK(mode_of(box.at("a")) == (0777U & ~box.box().workspace->umask_bits()));
  CHECK_FALSE(make(R"({"path":"a/b/c","mode":"0700"})"));
  CHECK(mode_of(box.at("a/b/c")) == 02770);
  CHECK_FALSE(make(R"({"path":"l/b"})"));
  CHECK_FALSE(make(R"({"path":"."})"));
  CHECK(make(R"({"path":"l/d/"})"));
  CHECK(mode_of(box.at("a/d")) == (0755U & ~box.box().workspace->umask_bits()));
  CHECK(box.code(create_directory_tool(), R"({"path":"f"})") == "EEXIST");
  CHECK(box.code(create_directory_tool(), R"({"path":"f/x"})") == "ENOTDIR");
  CHECK(box.code(create_directory_tool(), R"({"path":"../x"})") == "ESCAPE");
  CHECK(box.code(create_directory_tool(), R"({"path":"new/.agentbox-tmp-1"})") ==
        "INVALID_ARGUMENT");
  CHECK(!std::filesystem::exists(box.at("new")));
}

TEST_CASE("several files are read at once, and one that fails does not fail the rest") {
  ToolFixture box;
  put_file(box.at("a"), "one\n");
  put_file(box.at("b"), "\xff");
  const auto json =
      box.structured(read_files_tool(), R"({"paths":["a","nope","b","/etc/hostname"]})");
  CHECK(json["errors"] == 2);
  CHECK(json["files"][0]["content"] == "one\n");
  CHECK(json["files"][0]["sha256"] == sha256_hex("one\n"));
  CHECK(json["files"][1]["error_code"] == "ENOENT");
  CHECK(json["files"][2]["encoding"] == "base64");
  CHECK(json["files"][3]["error_code"] == "ESCAPE");
  CHECK(box.text(read_files_tool(), R"({"paths":["a","nope"]})")
            .starts_with("errors: 1\n--- " + box.at("a") +
                         " ---\nsize: 4\nbytes_returned: 4\ntruncated: false\nsha256: "));
  CHECK(box.code(read_files_tool(), R"({"paths":[]})") == "INVALID_ARGUMENT");
}

TEST_CASE("what many files hold together stays below one reply, and what was cut says so") {
  ToolFixture box;
  put_file(box.at("wide"), std::string(262'144, '\x01'));  // six bytes each as JSON
  put_file(box.at("text"), std::string(262'144, 'x'));
  for (const char* const name : {"wide", "text"}) {
    std::string paths;
    for (int i = 0; i < 50; ++i) {
      paths += (i == 0 ? "\"" : ",\"") + std::string(name) + "\"";
    }
    const auto result =
        box.call(read_files_tool(), R"({"limit_per_file":262144,"paths":[)" + paths + "]}");
    REQUIRE(!result.error);
    CHECK(dump_json(OrderedJson(result.texts)).size() + dump_json(result.structured).size() <
          kMaxResultBytes);
    std::size_t bytes = 0;
    for (const auto& file : result.structured["files"]) {
      bytes += file["content"].get<std::string>().size();
      CHECK(file["truncated"].get<bool>() == (file["content"].get<std::string>().size() < 262'144));
    }
    CHECK(bytes > 262'144);
    CHECK(bytes <= 1UL << 20);
  }
}
