// edge: read_file, write_file, list_directory, the blobs and system_info, called as the server
// does.
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

TEST_CASE("a text file is read whole with its hash") {
  ToolFixture box;
  put_file(box.at("f.txt"), "one\ntwo\n");
  const auto result = box.call(read_file_tool(), R"({"path":"f.txt"})");
  REQUIRE(!result.error);
  CHECK(result.texts.front() ==
        "path: " + box.at("f.txt") +
            "\nsize: 8\noffset: 0\nbytes_returned: 8\ntruncated: false\nsha256: " +
            sha256_hex("one\ntwo\n") + "\n--- content ---\none\ntwo\n");
  CHECK(result.structured["content"] == "one\ntwo\n");
  CHECK(result.structured["encoding"] == "utf-8");
  CHECK(result.structured["eof"] == true);
  CHECK(!result.structured.contains("next_offset"));
}

TEST_CASE("an empty file is empty and at its end") {
  ToolFixture box;
  put_file(box.at("f"), "");
  const auto json = box.structured(read_file_tool(), R"({"path":"f"})");
  CHECK(json["content"] == "");
  CHECK(json["eof"] == true);
  CHECK(json["truncated"] == false);
}

TEST_CASE("pages of a file join to the file and split no character") {
  ToolFixture box;
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "\xe2\x82\xac" + std::to_string(i) + "\xc3\xa9";
  }
  put_file(box.at("f"), text);
  std::string joined;
  std::uint64_t offset = 0;
  for (int page = 0; page < 1000; ++page) {
    const auto json =
        box.structured(read_file_tool(), R"({"path":"f","limit":7,"sha256":false,"offset":)" +
                                             std::to_string(offset) + "}");
    CHECK(json["encoding"] == "utf-8");
    joined += json["content"].get<std::string>();
    if (json["eof"] == true) {
      break;
    }
    offset = json["next_offset"];
  }
  CHECK(joined == text);
}

TEST_CASE("binary content comes as base64, on request lossily as text") {
  ToolFixture box;
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<char>(i));
  }
  put_file(box.at("f"), bytes);
  const auto json = box.structured(read_file_tool(), R"({"path":"f"})");
  CHECK(json["encoding"] == "base64");
  CHECK(base64_decode(json["content"].get<std::string>()).value() == bytes);
  const auto lossy = box.structured(read_file_tool(), R"({"path":"f","encoding":"utf-8"})");
  CHECK(lossy["lossy"] == true);
}

TEST_CASE("lines are read from the head, the tail and the middle") {
  ToolFixture box;
  std::string text;
  for (int i = 1; i <= 1000; ++i) {
    text += "line " + std::to_string(i) + "\n";
  }
  put_file(box.at("f"), text);
  const auto read = [&](const std::string& more) {
    return box.structured(read_file_tool(), R"({"path":"f",)" + more + "}");
  };
  CHECK(read(R"("head":2)")["content"] == "line 1\nline 2\n");
  CHECK(read(R"("tail":2)")["content"] == "line 999\nline 1000\n");
  CHECK(read(R"("tail":1,"line_numbers":true)")["content"] == "1000\tline 1000\n");
  const auto lines = read(R"("start_line":500,"line_count":2,"line_numbers":true)");
  CHECK(lines["content"] == "500\tline 500\n501\tline 501\n");
  CHECK(lines["total_lines"] == 1000);
  CHECK(lines["lines_returned"] == 2);
  CHECK(read(R"("start_line":5000)")["content"] == "");
  CHECK(box.code(read_file_tool(), R"({"path":"f","head":1,"tail":1})") == "INVALID_ARGUMENT");
}

TEST_CASE("reads that cannot work say why") {
  ToolFixture box;
  put_file(box.at("d/f"), "x");
  CHECK(box.code(read_file_tool(), R"({"path":"nope"})") == "ENOENT");
  CHECK(box.code(read_file_tool(), R"({"path":"d"})") == "EISDIR");
  CHECK(box.code(read_file_tool(), R"({"path":"d/f/x"})") == "ENOTDIR");
  CHECK(box.code(read_file_tool(), R"({"path":"/etc/passwd"})") == "ESCAPE");
}

TEST_CASE("binary content is written exactly and malformed base64 changes nothing") {
  ToolFixture box;
  std::string bytes(3'100'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 7919);
  }
  const std::string good = base64_encode(bytes);
  const auto json = box.structured(write_file_tool(),
                                   R"({"path":"b","encoding":"base64","content":")" + good + "\"}");
  CHECK(json["sha256"] == sha256_hex(bytes));
  CHECK(json["bytes_written"] == bytes.size());
  CHECK(file_content(box.at("b")) == bytes);
  for (const char* bad : {"AAA", "AA\\nAA", "A-_A", "AAA=AAAA"}) {
    CHECK(box.code(write_file_tool(), R"({"path":"b2","encoding":"base64","content":")" +
                                          std::string(bad) + "\"}") == "INVALID_ENCODING");
  }
  CHECK(!std::filesystem::exists(box.at("b2")));
}

TEST_CASE("the size limit of a write counts decoded bytes") {
  ToolFixture box;
  const std::string most(4UL << 20, 'x');
  CHECK(box.code(write_file_tool(),
                 R"({"path":"f","encoding":"base64","content":")" + base64_encode(most) + "\"}")
            .empty());
  CHECK(box.code(write_file_tool(), R"({"path":"g","content":")" + most + "y\"}") == "TOO_LARGE");
  CHECK(!std::filesystem::exists(box.at("g")));
}

TEST_CASE("a write tells what it did and refuses what it must not") {
  ToolFixture box;
  const auto made =
      box.structured(write_file_tool(), R"({"path":"x/y","content":"1","mode":"0755"})");
  CHECK(made["created"] == true);
  CHECK(made["mode"] == "0755");
  CHECK(made["path"] == box.at("x/y"));
  const auto changed = box.structured(write_file_tool(), R"({"path":"x/y","content":"22"})");
  CHECK(changed["created"] == false);
  CHECK(changed["mode"] == "0755");
  CHECK(changed["previous_sha256"] == sha256_hex("1"));
  CHECK(box.code(write_file_tool(), R"({"path":"x","content":"1"})") == "EISDIR");
  CHECK(box.code(write_file_tool(), R"({"path":"x/y/z","content":"1"})") == "ENOTDIR");
  CHECK(box.code(write_file_tool(), R"({"path":"../z","content":"1"})") == "ESCAPE");
  CHECK(box.code(write_file_tool(), R"({"path":".agentbox-tmp-1","content":"1"})") ==
        "INVALID_ARGUMENT");
  CHECK(box.code(write_file_tool(), R"({"path":"x/y","content":"1","if_absent":true})") ==
        "EEXIST");
  CHECK(box.code(write_file_tool(), R"({"path":")" + box.output() + R"(/x","content":"1"})") ==
        "EROFS");
  REQUIRE(::mkfifo(box.at("fifo").c_str(), 0600) == 0);
  CHECK(box.code(write_file_tool(), R"({"path":"fifo","content":"1"})") == "INVALID_ARGUMENT");
}

TEST_CASE("a folder is listed in the order asked for, hidden names on request") {
  ToolFixture box;
  put_file(box.at("b"), "12345");
  put_file(box.at("a"), "1");
  put_file(box.at(".hidden"), "");
  put_file(box.at(".agentbox-tmp-77"), "");
  REQUIRE(::symlink("a", box.at("l").c_str()) == 0);
  const auto names = [&](const std::string& arguments) {
    const auto json = box.structured(list_directory_tool(), arguments);
    std::vector<std::string> result;
    for (const auto& entry : json["entries"]) {
      result.push_back(entry["name"]);
    }
    CHECK(json["entry_count"] == result.size());
    return result;
  };
  CHECK(names("{}") == std::vector<std::string>{"a", "b", "l"});
  CHECK(names(R"({"include_hidden":true})") == std::vector<std::string>{".hidden", "a", "b", "l"});
  CHECK(names(R"({"sort":"size"})").front() == "b");
  const std::string text = box.text(list_directory_tool(), "{}");
  CHECK(text.starts_with("path: " + box.root() + "\nentry_count: 3\n--- entries ---\nf\t1\t"));
  CHECK(text.ends_with("\tl\t-> a\n"));
}

TEST_CASE("names that are no text are listed so that they can be used again") {
  ToolFixture box;
  const std::string name = "bad\xff\nname";
  put_file(box.at(name), "content");
  const auto json = box.structured(list_directory_tool(), "{}");
  const auto& entry = json["entries"][0];
  CHECK(entry["name_encoding"] == "base64");
  CHECK(base64_decode(entry["name"].get<std::string>()).value() == name);
  const auto read =
      box.structured(read_file_tool(), R"({"path":)" + json_text(entry["quoted_name"]) + "}");
  CHECK(read["content"] == "content");
  CHECK(box.text(list_directory_tool(), "{}").find("\"bad\\377\\nname\"") != std::string::npos);
}

TEST_CASE("a deep tree with a loop of links is listed to its end, page by page") {
  ToolFixture box;
  std::string folder;
  std::size_t expected = 0;
  for (int level = 0; level < 12; ++level) {
    folder += "d" + std::to_string(level) + "/";
    ++expected;
    for (int i = 0; i < 100; ++i) {
      put_file(box.at(folder + "f" + std::to_string(i)), "");
      ++expected;
    }
  }
  REQUIRE(::symlink("../d0", box.at("d0/loop").c_str()) == 0);
  ++expected;
  std::set<std::string> seen;
  std::string cursor;
  std::size_t pages = 0;
  for (;;) {
    const auto json =
        box.structured(list_directory_tool(),
                       R"({"depth":20,"limit":250)" +
                           (cursor.empty() ? "" : ",\"cursor\":" + json_text(cursor)) + "}");
    CHECK(json["total"] == expected);
    for (const auto& entry : json["entries"]) {
      CHECK(seen.insert(entry["name"]).second);
    }
    ++pages;
    if (!json.contains("next_cursor")) {
      CHECK(json["truncated"] == false);
      break;
    }
    CHECK(json["truncated"] == true);
    cursor = json["next_cursor"];
  }
  CHECK(seen.size() == expected);
  CHECK(pages == (expected + 249) / 250);
  CHECK(box.structured(list_directory_tool(), R"({"depth":1})")["entry_count"] == 1);
  CHECK(box.code(list_directory_tool(), R"({"cursor":"nonsense"})") == "BAD_CURSOR");
}

TEST_CASE("a hundred thousand entries are paged through without gaps, in pages that fit a reply") {
  ToolFixture box;
  constexpr std::size_t kEntries = 100'000;
  for (std::size_t i = 0; i < kEntries; ++i) {
    REQUIRE(::mknod(box.at("f" + std::to_string(i)).c_str(), S_IFREG | 0600, 0) == 0);
  }
  std::set<std::string> seen;
  std::string cursor;
  do {
    const auto result = box.call(
        list_directory_tool(),
        R"({"limit":10000)" + (cursor.empty() ? "" : ",\"cursor\":" + json_text(cursor)) + "}");
    REQUIRE(!result.error);
    const OrderedJson& json = result.structured;
    CHECK(json["entry_count"] == 10'000);
    CHECK(json["total"] == kEntries);
    CHECK(result.texts.front().size() + dump_json(json).size() < kMaxResultBytes);
    for (const auto& entry : json["entries"]) {
      REQUIRE(seen.insert(entry["name"]).second);
    }
    if (cursor.empty()) {
      // What comes and goes meanwhile neither repeats nor hides another.
      put_file(box.at("a-new-one"), "");
      REQUIRE(::unlink(box.at("a-new-one").c_str()) == 0);
    }
    cursor = json.value("next_cursor", "");
  } while (!cursor.empty());
  CHECK(seen.size() == kEntries);
}

TEST_CASE("numbered lines never pass the size of a reply, and the rest is pointed at") {
  ToolFixture box;
  const std::string newlines(524'288, '\n');
  put_file(box.at("f"), newlines);
  const auto fits = [](const ToolResult& result) {
    REQUIRE(!result.error);
    return dump_json(OrderedJson(result.texts)).size() + dump_json(result.structured).size() <
           kMaxResultBytes;
  };
  const std::string numbered = R"({"path":"f","limit":524288,"line_numbers":true)";
  const auto whole = box.call(read_file_tool(), numbered + "}");
  CHECK(fits(whole));
  CHECK(whole.structured["truncated"] == true);
  CHECK(whole.structured["eof"] == false);
  const std::uint64_t next = whole.structured["next_offset"];
  CHECK(next == whole.structured["bytes_returned"]);
  CHECK(next > 100'000);
  const std::string content = whole.structured["content"];
  CHECK(content.ends_with("\n" + std::to_string(next) + "\t\n"));

  const auto head = box.call(read_file_tool(), numbered + R"(,"head":100000})");
  CHECK(fits(head));
  CHECK(head.structured["lines_returned"] == 100'000);
  CHECK(head.structured["truncated"] == false);

  // Of the last lines the last are kept. Each is cut, and says so in many more bytes than it has.
  std::string pairs;
  for (int i = 0; i < 170'000; ++i) {
    pairs += "ab\n";
  }
  put_file(box.at("g"), pairs);
  const auto tail = box.call(
      read_file_tool(),
      R"({"path":"g","limit":524288,"line_numbers":true,"max_line_chars":1,"tail":100000})");
  CHECK(fits(tail));
  CHECK(tail.structured["truncated"] == true);
  CHECK(tail.structured["eof"] == true);
  CHECK(tail.structured["lines_returned"] < 100'000);
  CHECK(tail.structured["content"].get<std::string>().find("\n170000\ta[... 1 bytes") !=
        std::string::npos);
}

TEST_CASE("every read of a file with the costliest characters fits one reply") {
  ToolFixture box;
  put_file(box.at("f"), std::string(524'288, '\x01'));
  for (const char* const more : {"", R"(,"line_numbers":true)", R"(,"encoding":"base64")"}) {
    const auto result =
        box.call(read_file_tool(), R"({"path":"f","limit":524288)" + std::string(more) + "}");
    REQUIRE(!result.error);
    CHECK(dump_json(OrderedJson(result.texts)).size() + dump_json(result.structured).size() <
          kMaxResultBytes);
  }
}

TEST_CASE("a file of more than four gibibytes is seen whole, and any part of it read") {
  ToolFixture box;
  constexpr std::uint64_t kHole = 4ULL << 30;
  const std::string path = box.at("huge");
  put_file(path, "begin\n");
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(kHole)) == 0);
  { std::ofstream(path, std::ios::binary | std::ios::app) << "\nend of it\n"; }
  const std::uint64_t size = kHole + 11;
  const auto part = box.structured(read_file_tool(), R"({"path":"huge","offset":4294967297})");
  CHECK(part["size"] == size);
  CHECK(part["offset"] == kHole + 1);
  CHECK(part["content"] == "end of it\n");
  CHECK(part["eof"] == true);
  CHECK(!part.contains("sha256"));
  CHECK(box.structured(read_file_tool(), R"({"path":"huge","tail":1})")["content"] ==
        "end of it\n");
  CHECK(box.structured(read_file_tool(), R"({"path":"huge","head":1})")["next_offset"] == 6);
  CHECK(box.structured(list_directory_tool(), "{}")["entries"][0]["size"] == size);
  CHECK(box.structured(
            tail_log_tool(),
            R"({"path":"huge","start_offset":4294967297,"follow_seconds":0})")["content"] ==
        "end of it\n");
  CHECK(box.structured(file_info_tool(), R"({"path":"huge"})")["size"] == size);
  CHECK(box.structured(move_file_tool(), R"({"source":"huge","destination":"h2"})")["replaced"] ==
        false);
  CHECK(box.structured(delete_file_tool(), R"({"path":"h2"})")["bytes_deleted"] == size);
}

TEST_CASE("names that are no UTF-8 pass through every file tool and back") {
  ToolFixture box;
  const std::string name = R"("\"d\\377\\nx\"")";  // "d\377\nx" in quotes, as JSON
  const std::string bytes = "d\xff\nx";
  CHECK(box.structured(write_file_tool(), R"({"path":)" + name + R"(,"content":"1"})")["created"] ==
        true);
  CHECK(file_content(box.at(bytes)) == "1");
  CHECK(box.structured(read_file_tool(), R"({"path":)" + name + "}")["content"] == "1");
  CHECK(box.structured(file_info_tool(), R"({"path":)" + name + "}")["size"] == 1);
  CHECK(box.structured(
            tail_log_tool(),
            R"({"path":)" + name + R"(,"start_offset":0,"follow_seconds":0})")["content"] == "1");
  const auto moved =
      box.structured(move_file_tool(), R"({"source":)" + name + R"(,"destination":"e/\"\\376\""})");
  CHECK(!moved["replaced"].get<bool>());
  CHECK(box.structured(read_files_tool(), R"({"paths":["e/\"\\376\""]})")["errors"] == 0);
  CHECK(names_in(box.at("e")).size() == 1);
  const auto again =
      box.structured(move_file_tool(), R"({"source":"e","destination":"\"\\376\""})");
  CHECK(file_content(box.at("\xfe/\"\\376\"")) == "1");
  CHECK(is_utf8(dump_json(again)));
  CHECK(again["destination"] == quote_name(box.at("\xfe")));
  CHECK(box.structured(delete_file_tool(),
                       R"({"path":"\"\\376\"","recursive":true})")["files_deleted"] == 1);
  CHECK(names_in(box.root()).empty());
}

TEST_CASE("a file's type is told by what it holds, else by its name") {
  ToolFixture box;
  put_file(box.at("image.txt"), "\x89PNG\r\n\x1a\n....");
  put_file(box.at("page.html"), "<p>");
  put_file(box.at("lying.json"), std::string("\0\1\2", 3));
  put_file(box.at("plain"), "hello");
  const auto type = [&](const std::string& name) {
    return box.structured(read_file_tool(), R"({"path":")" + name + "\"}")["mime_type"];
  };
  CHECK(type("image.txt") == "image/png");
  CHECK(type("page.html") == "text/html");
  CHECK(type("lying.json") == "application/octet-stream");
  CHECK(type("plain") == "text/plain");
}

TEST_CASE("blobs answer what the seed server answers, word for word") {
  ToolFixture box;
  CHECK(box.call(list_blobs_tool(), "{}").texts.empty());
  CHECK(box.structured(list_blobs_tool(), "{}")["result"].empty());

  const auto written = box.call(write_random_blob_tool(), R"({"name":"b.bin","size_bytes":"7"})");
  REQUIRE(!written.error);
  const std::string hash = sha256_hex(file_content(box.at("b.bin")));
  CHECK(written.texts.front() == "{\n  \"path\": \"" + box.at("b.bin") +
                                     "\",\n  \"bytes_written\": 7,\n  \"sha256\": \"" + hash +
                                     "\"\n}");
  CHECK(dump_json(written.structured, 2) == written.texts.front());
  const auto read = box.call(read_blob_tool(), R"({"name":"b.bin"})");
  REQUIRE(!read.error);
  CHECK(read.texts.front() == "{\n  \"path\": \"" + box.at("b.bin") +
                                  "\",\n  \"size_bytes\": 7,\n  \"sha256\": \"" + hash + "\"\n}");

  put_file(box.at("a.txt"), "");
  put_file(box.at("d/nested"), "");
  CHECK(box.call(list_blobs_tool(), "{}").texts == std::vector<std::string>{"a.txt", "b.bin"});
  CHECK(box.structured(list_blobs_tool(), "{}")["result"] ==
        OrderedJson::array({"a.txt", "b.bin"}));
}

TEST_CASE("errors of blobs are the seed's, word for word") {
  ToolFixture box;
  put_file(box.at("d/f"), "");
  const auto error = [&](const Tool& tool, const std::string& arguments) {
    const auto result = box.call(tool, arguments);
    REQUIRE(result.error);
    return result.error->verbatim;
  };
  CHECK(error(read_blob_tool(), R"({"name":"../x"})") ==
        "Error executing tool read_blob: path escapes workspace: '../x'");
  CHECK(error(read_blob_tool(), R"({"name":"/etc/passwd"})") ==
        "Error executing tool read_blob: path escapes workspace: '/etc/passwd'");
  CHECK(error(read_blob_tool(), R"({"name":"nope"})") ==
        "Error executing tool read_blob: [Errno 2] No such file or directory: '" + box.at("nope") +
            "'");
  CHECK(error(read_blob_tool(), R"({"name":"d"})") ==
        "Error executing tool read_blob: [Errno 21] Is a directory: '" + box.at("d") + "'");
  CHECK(error(write_random_blob_tool(), R"({"name":"x","size_bytes":16777217})") ==
        "Error executing tool write_random_blob: size_bytes must be in [0, 16 MiB]");
  CHECK(error(write_random_blob_tool(), R"({"name":"x","size_bytes":-1})") ==
        "Error executing tool write_random_blob: size_bytes must be in [0, 16 MiB]");
  CHECK(error(write_random_blob_tool(), R"({"name":"../x","size_bytes":1})") ==
        "Error executing tool write_random_blob: path escapes workspace: '../x'");
  CHECK(error(write_random_blob_tool(), R"({"name":"no/x","size_bytes":1})") ==
        "Error executing tool write_random_blob: [Errno 2] No such file or directory: '" +
            box.at("no/x") + "'");
  CHECK(error(write_random_blob_tool(), R"({"name":"d","size_bytes":1})") ==
        "Error executing tool write_random_blob: [Errno 21] Is a directory: '" + box.at("d") + "'");
}

TEST_CASE("the box describes itself") {
  Settings settings;
  settings.generation = 42;
  settings.role = Role::kReader;
  settings.environment = {{"SANDBOX_NAME", "demo"}, {"OTHER", "x"}};
  ToolFixture box(settings);
  const auto json = box.structured(system_info_tool(), "{}");
  CHECK(json["workspace"] == box.root());
  CHECK(json["version"] == AGENTBOX_VERSION);
  CHECK(json["role"] == "reader");
  CHECK(json["keys_generation"] == 42);
  CHECK(json["metadata"].size() == 1);
  CHECK(json["metadata"]["SANDBOX_NAME"] == "demo");
  CHECK(json["security"]["subreaper"] == true);
  CHECK(json["limits"]["line_out_bytes"] == 8 << 20);
  CHECK(json["memory_total_bytes"] > 0);
  CHECK(!box.structured(system_info_tool(), R"({"metrics":false})").contains("load1"));
}
