// edge: resources of a real box: what is listed, what is read, what is refused.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "agentbox/box_watcher.h"
#include "agentbox/jsonrpc.h"
#include "agentbox/resource_list.h"
#include "agentbox/resource_reader.h"
#include "agentbox/resource_uri.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/method_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using agentbox::test::MethodFixture;
using agentbox::test::with_jobs;

namespace {

void put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_params(const std::string& uri) { return dump_json(Json{{"uri", uri}}); }

struct Fixture : MethodFixture {
  using MethodFixture::MethodFixture;

  OrderedJson read(const std::string& uri, Version version = Version::k2025_11_25,
                   Role role = Role::kAgent) {
    const auto contents = result("resources/read", read_params(uri), version, role)["contents"];
    REQUIRE(contents.size() == 1);
    CHECK(contents[0]["uri"] == uri);
    return contents[0];
  }
  int refused(const std::string& uri, Version version = Version::k2025_11_25,
              Role role = Role::kAgent) {
    const MethodReply reply = ask("resources/read", read_params(uri), version, role);
    if (!reply.failure) {
      return 0;
    }
    CHECK(reply.failure->data["uri"] == uri);
    return reply.failure->code;
  }
  std::string uri(const std::string& name) { return file_uri(at(name)); }
  OrderedJson json_of(std::string_view uri_text) {
    return OrderedJson(Json::parse(read(std::string(uri_text))["text"].get<std::string>()));
  }
  // Every URI on every page.
  std::vector<std::string> list_all(Role role = Role::kAgent) {
    std::vector<std::string> uris;
    std::string cursor;
    do {
      const std::string params = cursor.empty() ? "{}" : dump_json(Json{{"cursor", cursor}});
      const auto page = result("resources/list", params, Version::k2025_11_25, role);
      for (const auto& one : page["resources"]) {
        uris.push_back(one["uri"]);
      }
      CHECK((!page.contains("nextCursor") || page["nextCursor"] != ""));
      cursor = page.value("nextCursor", "");
    } while (!cursor.empty());
    return uris;
  }
};

bool has(const std::vector<std::string>& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

}  // namespace

TEST_CASE("a file is read as text where it is text, else as a blob") {
  Fixture box;
  put(box.at("a.json"), "{\"x\":\"\xc3\xa9\"}\n");
  put(box.at("b.bin"), std::string("\xff\xfe\0x", 4));
  put(box.at("nul"), std::string("a\0b", 3));
  put(box.at("a b#?%.txt"), "odd");
  put(box.at("empty"), "");
  CHECK(box.read(box.uri("a.json"))["text"] == "{\"x\":\"\xc3\xa9\"}\n");
  CHECK(box.read(box.uri("a.json"))["mimeType"] == "application/json");
  CHECK(box.read(box.uri("b.bin"))["blob"] == base64_encode(std::string("\xff\xfe\0x", 4)));
  CHECK_FALSE(box.read(box.uri("b.bin")).contains("text"));
  CHECK(box.read(box.uri("nul")).contains("blob"));
  CHECK(box.read(box.uri("a b#?%.txt"))["text"] == "odd");
  CHECK(box.read(box.uri("empty"))["text"] == "");
  CHECK(box.read("file:///workspace/empty")["text"] == "");  // its common name
}

TEST_CASE("a folder is read as a listing") {
  Fixture box;
  std::filesystem::create_directories(box.at("d/sub"));
  put(box.at("d/.hidden"), "1");
  put(box.at("d/x y"), "22");
  REQUIRE(::symlink("x y", box.at("d/link").c_str()) == 0);
  for (const std::string& uri : {box.uri("d"), box.uri("d/")}) {
    const auto content = box.read(uri);
    CHECK(content["mimeType"] == "inode/directory");
    const auto listing = Json::parse(content["text"].get<std::string>());
    REQUIRE(listing["entries"].size() == 4);
    CHECK(listing["total"] == 4);
    CHECK(listing["truncated"] == false);
    CHECK(listing["entries"][0]["name"] == ".hidden");
    CHECK(listing["entries"][1]["target"] == "x y");
    CHECK(listing["entries"][2]["type"] == "directory");
    CHECK(listing["entries"][3]["size"] == 2);
    CHECK(box.read(listing["entries"][3]["uri"])["text"] == "22");
  }
  CHECK(box.read(box.uri(""))["mimeType"] == "inode/directory");
}

TEST_CASE("what is not there is not found in the words of each era [25]") {
  Fixture box;
  for (const std::string& uri :
       {box.uri("nothing"), box.uri("nothing/below"), std::string("agentbox://process/none"),
        std::string("agentbox://process/none/output"), std::string("agentbox://other"),
        std::string("file:///etc/passwd"), std::string("http://host/x")}) {
    CAPTURE(uri);
    CHECK(box.refused(uri) == rpc::kResourceNotFound);
    CHECK(box.refused(uri, Version::k2024_11_05) == rpc::kResourceNotFound);
    CHECK(box.refused(uri, Version::k2026_07_28) == rpc::kInvalidParams);
  }
  CHECK(box.code("resources/read", "{}") == rpc::kInvalidParams);
  CHECK(box.code("resources/read", R"({"uri":7})") == rpc::kInvalidParams);
}

TEST_CASE("nothing outside the workspace is read, by whatever way [26]") {
  Fixture box;
  REQUIRE(::symlink("/etc", box.at("out").c_str()) == 0);
  REQUIRE(::symlink("/etc/passwd", box.at("passwd").c_str()) == 0);
  REQUIRE(::symlink("../../../../etc/passwd", box.at("up").c_str()) == 0);
  REQUIRE(::symlink("loop", box.at("loop").c_str()) == 0);
  for (const char* const name : {"out/passwd", "passwd", "up", "loop", "out"}) {
    CAPTURE(name);
    CHECK(box.refused(box.uri(name)) == rpc::kResourceNotFound);
  }
  for (const std::string& uri :
       {std::string("file:///../etc/passwd"), "file://" + box.root() + "/%2e%2e/%2e%2e/etc/passwd",
        "file://" + box.root() + "/../../etc/passwd", std::string("file://host/etc/passwd"),
        "file://" + box.root() + "/a%00", "file://" + box.root() + "//etc/passwd"}) {
    CAPTURE(uri);
    CHECK(box.refused(uri) == rpc::kInvalidParams);
    CHECK(box.refused(uri, Version::k2026_07_28) == rpc::kInvalidParams);
  }
}

TEST_CASE("what is no file is refused without waiting, and what is too large with the limit") {
  Fixture box;
  REQUIRE(::mkfifo(box.at("fifo").c_str(), 0600) == 0);
  CHECK(box.refused(box.uri("fifo")) != 0);
  put(box.at("big"), "");
  std::filesystem::resize_file(box.at("big"), kMaxResourceBytes + 1);
  const MethodReply reply = box.ask("resources/read", read_params(box.uri("big")));
  REQUIRE(reply.failure);
  CHECK(reply.failure->code == rpc::kInvalidParams);
  CHECK(reply.failure->message.find(std::to_string(kMaxResourceBytes)) != std::string::npos);
  // As large as may be, and worst to encode: it comes as a blob, which always fits.
  put(box.at("big"), std::string(kMaxResourceBytes, '\x01'));
  CHECK(box.read(box.uri("big")).contains("blob"));
  put(box.at("big"), std::string(kMaxResourceBytes, 'x'));
  CHECK(box.read(box.uri("big"))["text"].get<std::string>().size() == kMaxResourceBytes);
}

TEST_CASE("pages together are the whole list, each once, whatever comes and goes [30]") {
  Fixture box;
  std::set<std::string> wanted;
  for (std::size_t i = 0; i < 2 * kResourcePageItems + 3; ++i) {
    put(box.at("f" + std::to_string(i)), "x");
    wanted.insert(box.uri("f" + std::to_string(i)));
  }
  put(box.at(".hidden"), "x");
  const auto uris = box.list_all();
  const std::set<std::string> once(uris.begin(), uris.end());
  CHECK(once.size() == uris.size());
  for (const std::string& uri : wanted) {
    CHECK(once.contains(uri));
  }
  CHECK_FALSE(once.contains(box.uri(".hidden")));

  const auto page = box.result("resources/list", "{}");
  CHECK(page["resources"].size() == kResourcePageItems);
  const std::string cursor = page["nextCursor"];
  const std::string after = dump_json(Json{{"cursor", cursor}});
  const auto second = box.result("resources/list", after);
  put(box.at("a-new-first-file"), "x");
  CHECK(box.result("resources/list", after)["resources"] == second["resources"]);
}

TEST_CASE("a cursor that nobody gave out is refused [30]") {
  Fixture box;
  for (const std::string params : {R"({"cursor":""})", R"({"cursor":"x"})", R"({"cursor":7})",
                                   R"({"cursor":"AAAAAAAAAAAAAAAA"})"}) {
    for (const char* const method :
         {"resources/list", "resources/templates/list", "prompts/list"}) {
      CAPTURE(method, params);
      CHECK(box.code(method, params) == rpc::kInvalidParams);
    }
  }
  CHECK(box.code("resources/list", R"({"cursor":null})") == 0);
}

TEST_CASE("each revision gets the members it knows") {
  Fixture box;
  put(box.at("a.txt"), "abc");
  const auto entry = [&](Version version) {
    const auto list = box.result("resources/list", "{}", version);
    for (const auto& one : list["resources"]) {
      if (one["name"] == "a.txt") {
        return one;
      }
    }
    return OrderedJson();
  };
  CHECK_FALSE(entry(Version::k2024_11_05).contains("size"));
  CHECK_FALSE(entry(Version::k2024_11_05).contains("title"));
  CHECK(entry(Version::k2025_03_26)["size"] == 3);
  CHECK_FALSE(entry(Version::k2025_03_26).contains("annotations"));
  CHECK(entry(Version::k2025_06_18)["title"] == "a.txt");
  CHECK(entry(Version::k2026_07_28)["annotations"].contains("lastModified"));
  const auto templates = [&](Version version) {
    return box.result("resources/templates/list", "{}", version)["resourceTemplates"];
  };
  REQUIRE(templates(Version::k2025_11_25).size() == 3);
  CHECK(templates(Version::k2025_11_25)[0]["uriTemplate"] == "file:///{+path}");
  CHECK(templates(Version::k2025_11_25)[0].contains("title"));
  CHECK_FALSE(templates(Version::k2025_03_26)[0].contains("title"));
}

TEST_CASE("a process is listed while it lives, and read by id and name, with all it printed") {
  Fixture box(with_jobs);
  const std::string id =
      box.structured(process_start_tool(),
                     R"({"command":"printf 'one\\033[1m\\ntwo\\n'; sleep 600","name":"web"})")
          .at("process_id");
  CHECK(has(box.list_all(), process_uri(id)));
  CHECK(box.json_of(process_uri("web"))["status"] == "running");
  CHECK(box.json_of(process_uri(id))["name"] == "web");
  static_cast<void>(box.structured(process_output_tool(),
                                   R"({"process_id":"web","pattern":"two","wait_seconds":20})"));
  const auto output = box.read(output_uri(id));
  CHECK(output["text"] == "one\\u{1b}[1m\ntwo\n");
  CHECK(output["mimeType"] == "text/plain");
  CHECK(output["_meta"]["agentbox/log"]["truncated"] == false);
  CHECK_FALSE(box.read(output_uri(id), Version::k2025_03_26).contains("_meta"));
  static_cast<void>(box.structured(process_kill_tool(), R"({"name":"web"})"));
  CHECK_FALSE(has(box.list_all(), process_uri(id)));
  CHECK(box.json_of(process_uri(id))["status"] != "running");
}

TEST_CASE("the status claims what the tool table has") {
  Fixture box;
  const auto status = box.json_of(kStatusUri);
  CHECK(status["status"] == "ok");
  CHECK(status["uptime_seconds"].is_number_unsigned());
  CHECK(status["processes"]["running"] == 0);
  CHECK(status["kep539_2"]["core"].is_boolean());
  CHECK(status["kep539_2"]["watch"].is_boolean());
  CHECK(status["kep539_2"]["contexts"].is_array());
}

TEST_CASE("metadata are the SANDBOX_ variables and no others") {
  Settings settings;
  settings.environment = {{"SANDBOX_ID", "7"}, {"TOKEN", "secret"}, {"MY_SANDBOX_X", "no"}};
  Fixture box(settings);
  CHECK(box.json_of(kMetadataUri) == OrderedJson{{"env", {{"SANDBOX_ID", "7"}}}});
}

TEST_CASE("only an admin sees the calls of the session, without arguments and contents") {
  Fixture box;
  record::ToolCalled call;
  call.tool = "write_file";
  call.outcome = "error";
  call.code = "EACCES";
  call.path = "/w/a";
  call.arguments_sha256 = std::string(64, 'a');
  box.history.add(call, std::chrono::steady_clock::now());
  const std::string uri(kAuditUri);
  for (const Role role : {Role::kReader, Role::kAgent}) {
    CHECK(box.refused(uri, Version::k2025_11_25, role) == rpc::kResourceNotFound);
    CHECK(box.refused(uri, Version::k2026_07_28, role) == rpc::kInvalidParams);
    CHECK_FALSE(has(box.list_all(role), kAuditUri));
  }
  for (const Role role : {Role::kAdmin, Role::kOperator}) {
    CHECK(has(box.list_all(role), kAuditUri));
    const auto calls =
        Json::parse(box.read(uri, Version::k2025_11_25, role)["text"].get<std::string>())["calls"];
    REQUIRE(calls.size() == 1);
    CHECK(calls[0]["tool"] == "write_file");
    CHECK(calls[0]["code"] == "EACCES");
  }
  CHECK(box.json_of(kStatusUri)["calls"]["failed"] == 1);
}

TEST_CASE("the CI context is the runner's file where that is an object of JSON") {
  Fixture box;
  const std::string none = R"({"schema_version":"1.0","platform":null,"available":false})";
  CHECK(box.read(std::string(kCiContextUri))["text"] == none);
  std::filesystem::create_directory(box.at(".containarium"));
  const std::string path = box.at(".containarium/ci-context.json");
  put(path, R"({"available":true,"pr":7})");
  CHECK(box.read(std::string(kCiContextUri))["text"] == R"({"available":true,"pr":7})");
  for (const std::string_view hostile : {"", "[]", "{", "\xff", "{\"a\":\"\xff\"}"}) {
    put(path, hostile);
    CHECK(box.read(std::string(kCiContextUri))["text"] == none);
  }
  REQUIRE(::unlink(path.c_str()) == 0);
  REQUIRE(::symlink("/etc/passwd", path.c_str()) == 0);
  CHECK(box.read(std::string(kCiContextUri))["text"] == none);
  CHECK(box.read(std::string(kCiPromptUri))["mimeType"] == "text/markdown");
}

TEST_CASE("what is watched changes its state with the resource, and only then") {
  Fixture box(with_jobs);
  const auto state = [&](const std::string& uri) { return resource_state(box.box(), uri); };
  const std::string absent = state(box.uri("a"));
  put(box.at("a"), "1");
  const std::string first = state(box.uri("a"));
  CHECK(first != absent);
  CHECK(state(box.uri("a")) == first);
  put(box.at("a"), "22");
  CHECK(state(box.uri("a")) != first);
  REQUIRE(::unlink(box.at("a").c_str()) == 0);
  CHECK(state(box.uri("a")) == absent);

  const std::string list = state(kResourceList);
  const std::string id =
      box.structured(process_start_tool(), R"({"command":"read x; echo $x","stdin":"pipe"})")
          .at("process_id");
  const std::string with_process = state(kResourceList);
  CHECK(with_process != list);
  const std::string runs = state(process_uri(id));
  const std::string silent = state(output_uri(id));
  CHECK(state(process_uri(id)) == runs);
  static_cast<void>(box.structured(process_input_tool(),
                                   dump_json(Json{{"process_id", id}, {"data", "said\n"}})));
  static_cast<void>(box.structured(
      process_output_tool(),
      dump_json(Json{{"process_id", id}, {"wait_for", "exit"}, {"wait_seconds", 20}})));
  CHECK(state(output_uri(id)) != silent);
  CHECK(state(process_uri(id)) != runs);
  CHECK(state(kResourceList) == list);
}

TEST_CASE("a watcher tells of the start, of changes, and of nothing once it is stopped") {
  Fixture box;
  auto created = BoxWatcher::create(box.box());
  REQUIRE(created.ok());
  BoxWatcher& watcher = **created;
  const auto wait_for = [&](WatchEvent::Kind kind) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      REQUIRE(wait_readable(watcher.fd(), deadline));
      for (const WatchEvent& event : watcher.take_events()) {
        CHECK(event.key == 5);
        if (event.kind == kind) {
          return;
        }
      }
    }
  };
  watcher.start({.key = 5, .uri = box.uri("a")});
  wait_for(WatchEvent::Kind::kStarted);
  put(box.at("a"), "1");
  wait_for(WatchEvent::Kind::kChanged);
  REQUIRE(::unlink(box.at("a").c_str()) == 0);
  wait_for(WatchEvent::Kind::kChanged);
  watcher.stop({.key = 5});
  static_cast<void>(watcher.take_events());
  watcher.start({.key = 5, .uri = "file:///etc/passwd"});  // outside the workspace
  wait_for(WatchEvent::Kind::kFailed);
  CHECK(watcher.end(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  put(box.at("a"), "2");
  CHECK(watcher.take_events().empty());
}
