// edge: search_files, called as the server does.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/catch.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

TEST_CASE("matches come with path, line and column, in the order of the paths") {
  ToolFixture box;
  put_file(box.at("b.txt"), "one\nneedle two\n");
  put_file(box.at("a/c.txt"), "a needle\n");
  const auto json = box.structured(search_files_tool(), R"({"pattern":"needle"})");
  REQUIRE(json["matches"].size() == 2);
  CHECK(json["matches"][0]["path"] == "a/c.txt");
  CHECK(json["matches"][0]["column"] == 3);
  CHECK(json["matches"][1]["path"] == "b.txt");
  CHECK(json["matches"][1]["line"] == 2);
  CHECK(json["matches"][1]["text"] == "needle two");
  CHECK(json["match_count"] == 2);
  CHECK(json["file_count"] == 2);
  CHECK(json["truncated"] == false);
  const std::string text = box.text(search_files_tool(), R"({"pattern":"needle","before":1})");
  CHECK(text.ends_with("--- matches ---\na/c.txt\n1:a needle\nb.txt\n1-one\n2:needle two\n"));
}

TEST_CASE("one file can be searched, and other modes tell of files alone") {
  ToolFixture box;
  put_file(box.at("a"), "x\nx\n");
  put_file(box.at("b"), "x\n");
  CHECK(box.structured(search_files_tool(), R"({"pattern":"x","path":"a"})")["match_count"] == 2);
  const auto count =
      box.structured(search_files_tool(), R"({"pattern":"x","output_mode":"count"})");
  CHECK(dump_json(count["files"]) == R"([{"path":"a","count":2},{"path":"b","count":1}])");
  const auto names =
      box.structured(search_files_tool(), R"({"pattern":"x","output_mode":"files_with_matches"})");
  CHECK(dump_json(names["files"]) == R"([{"path":"a"},{"path":"b"}])");
}

TEST_CASE("a search goes on where it stopped") {
  ToolFixture box;
  put_file(box.at("a"), "x1\nx2\nx3\n");
  put_file(box.at("b"), "x4\nx5\n");
  std::string seen;
  std::int64_t offset = 0;
  for (int page = 0; page < 5; ++page) {
    const auto json =
        box.structured(search_files_tool(), R"({"pattern":"x","max_results":2,"offset":)" +
                                                std::to_string(offset) + "}");
    for (const auto& match : json["matches"]) {
      seen += match["text"].get<std::string>();
    }
    CHECK(json["truncated"] == json.contains("next_offset"));
    if (!json.contains("next_offset")) {
      break;
    }
    offset = json["next_offset"].get<std::int64_t>();
  }
  CHECK(seen == "x1x2x3x4x5");
}

TEST_CASE("globs, types, hidden names and .gitignore choose the files") {
  ToolFixture box;
  for (const char* name : {"a.py", "b.cc", "sub/c.py", ".hidden.py", "build/d.py"}) {
    put_file(box.at(name), "x\n");
  }
  put_file(box.at(".gitignore"), "build/\n");
  const auto files = [&](const std::string& more) {
    const auto json = box.structured(
        search_files_tool(), R"({"pattern":"x","output_mode":"files_with_matches")" + more + "}");
    std::string names;
    for (const auto& file : json["files"]) {
      names += file["path"].get<std::string>() + " ";
    }
    return names;
  };
  CHECK(files("") == "a.py b.cc sub/c.py ");
  CHECK(files(R"(,"type":"py")") == "a.py sub/c.py ");
  CHECK(files(R"(,"glob":["*.py","!sub/**"])") == "a.py ");
  CHECK(files(R"(,"respect_gitignore":false)") == "a.py b.cc build/d.py sub/c.py ");
  CHECK(files(R"(,"include_hidden":true,"glob":["*.py"])") == ".hidden.py a.py sub/c.py ");
  CHECK(box.code(search_files_tool(), R"({"pattern":"x","type":"none"})") == "UNKNOWN_TYPE");
}

TEST_CASE("case, words and plain text are heard") {
  ToolFixture box;
  put_file(box.at("f"), "Cat\ncat\nconcat\na.b\naxb\n");
  const auto count = [&](const std::string& words) {
    return box.structured(search_files_tool(), "{" + words + "}")["match_count"].get<int>();
  };
  CHECK(count(R"("pattern":"cat")") == 2);
  CHECK(count(R"("pattern":"cat","case":"insensitive")") == 3);
  CHECK(count(R"("pattern":"cat","case":"smart")") == 3);
  CHECK(count(R"("pattern":"Cat","case":"smart")") == 1);
  CHECK(count(R"("pattern":"cat","word":true)") == 1);
  CHECK(count(R"("pattern":"a.b")") == 2);
  CHECK(count(R"("pattern":"a.b","fixed_strings":true)") == 1);
  CHECK(count(R"("pattern":"a.b","fixed_strings":true,"word":true)") == 1);
  const auto refused = box.call(search_files_tool(), R"x({"pattern":"(?=a)"})x");
  REQUIRE(refused.error);
  CHECK(refused.error->code == "BAD_PATTERN");
  CHECK(refused.error->hint.find("grep -P") != std::string::npos);
}

TEST_CASE("special files, links out and binary files are passed over, and no one waits for them") {
  ToolFixture box;
  put_file(box.at("f"), "todo\n");
  put_file(box.at("binary"), std::string("todo\0todo", 9));
  REQUIRE(::mkfifo(box.at("pipe").c_str(), 0600) == 0);
  REQUIRE(::symlink("/proc", box.at("p").c_str()) == 0);
  REQUIRE(::symlink("/etc/passwd", box.at("q").c_str()) == 0);
  put_file(box.at("large"), "todo\n");
  REQUIRE(::truncate(box.at("large").c_str(), 3LL << 30) == 0);
  const auto json = box.structured(search_files_tool(), R"({"pattern":"todo|root"})");
  CHECK(json["match_count"] == 1);
  CHECK(json["files_skipped"].get<int>() >= 4);
}

TEST_CASE("the first results of a large tree are found without looking at all of it") {
  ToolFixture box;
  for (int i = 0; i < 25; ++i) {
    put_file(box.at("a/" + std::to_string(i)), "needle\n");
  }
  for (int i = 0; i < 3000; ++i) {
    put_file(box.at("b/" + std::to_string(i)), "hay\n");
  }
  const auto json = box.structured(search_files_tool(), R"({"pattern":"needle","max_results":20})");
  CHECK(json["matches"].size() == 20);
  CHECK(json["truncated"] == true);
  CHECK(json["files_searched"].get<int>() < 100);
}

TEST_CASE("an expression that takes others for ever is answered") {
  ToolFixture box;
  put_file(box.at("f"), std::string(200'000, 'a') + "\n");
  CHECK(box.structured(search_files_tool(), R"x({"pattern":"(a*)*b"})x")["match_count"] == 0);
}
