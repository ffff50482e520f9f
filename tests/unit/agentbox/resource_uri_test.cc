// pure: which URIs name a resource, and which texts are cursors.
#include "agentbox/resource_uri.h"

#include "agentbox/page_cursor.h"
#include "base/text.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

// The path of a file URI, or why it is none.
std::string path_of(std::string_view uri) {
  const auto parsed = parse_resource_uri(uri);
  return parsed.ok() ? parsed->path : "refused";
}

}  // namespace

TEST_CASE("a file's URI is file:///, then its path, percent-encoded where it must be") {
  CHECK(path_of("file:///workspace/a.txt") == "/workspace/a.txt");
  CHECK(path_of("file:///workspace/") == "/workspace/");
  CHECK(path_of("file:///") == "/");
  CHECK(path_of("file:///w/a%20b%23%3f%25") == "/w/a b#?%");
  CHECK(path_of("file:///w/\xc3\xa9") == "/w/\xc3\xa9");
  CHECK(path_of("file:///w/%c3%A9") == "/w/\xc3\xa9");
  CHECK(path_of("file:///w/%ff") == "/w/\xff");
  CHECK(path_of("file:///w/..a/...") == "/w/..a/...");
}

TEST_CASE("a file's URI leads nowhere else, however it is spelled [26]") {
  for (const std::string_view uri : {"file:///../etc/passwd",
                                     "file:///w/../x",
                                     "file:///w/..",
                                     "file:///%2e%2e/etc/passwd",
                                     "file:///w/%2E%2E/%2e%2e/etc",
                                     "file:///w/.%2e/x",
                                     "file:///w/./x",
                                     "file:///w/%2e",
                                     "file://host/w/x",
                                     "file://localhost/w/x",
                                     "file://",
                                     "file:/w/x",
                                     "file:w/x",
                                     "file:////etc/passwd",
                                     "file:///w//x",
                                     "file:///w/%2fetc",
                                     "file:///w/%2Fetc",
                                     "file:///w/a%00b",
                                     "file:///w/%",
                                     "file:///w/%4",
                                     "file:///w/%zz",
                                     "file:///w/%4g",
                                     "file:///w/a b",
                                     "file:///w/a\nb",
                                     "file:///w/a?b",
                                     "file:///w/a#b",
                                     "FILE:///w/x"}) {
    CAPTURE(uri);
    CHECK(path_of(uri) == "refused");
  }
  CHECK(path_of(std::string_view("file:///w/a\0b", 13)) == "refused");
  CHECK(path_of("file:///" + std::string(kMaxUriBytes, 'a')) == "refused");
}

TEST_CASE("processes are named by id or name") {
  const std::string id(32, 'a');
  const auto process = parse_resource_uri("agentbox://process/" + id);
  REQUIRE(process.ok());
  CHECK(process->kind == ResourceKind::kProcess);
  CHECK(process->process == id);
  const auto output = parse_resource_uri("agentbox://process/web.1/output");
  REQUIRE(output.ok());
  CHECK(output->kind == ResourceKind::kOutput);
  CHECK(output->process == "web.1");
  for (const std::string_view uri :
       {"agentbox://process/", "agentbox://process//output", "agentbox://process/a/b",
        "agentbox://process/../output", "agentbox://process/a%20b", "agentbox://process/.task",
        "agentbox://process/a/output/"}) {
    CAPTURE(uri);
    CHECK_FALSE(parse_resource_uri(uri).ok());
  }
}

TEST_CASE("what is unknown is told from what is malformed") {
  for (const std::string_view uri : {"agentbox://", "agentbox://statuses", "agentbox://status/",
                                     "http://host/", "x", "", "containarium://ci"}) {
    CAPTURE(uri);
    const auto parsed = parse_resource_uri(uri);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == agentbox::Code::kNotFound);
  }
  CHECK(parse_resource_uri("file:///..").error().code == agentbox::Code::kInvalid);
  CHECK(parse_resource_uri(kAuditUri)->kind == ResourceKind::kAudit);
  CHECK_FALSE(is_subscribable(ResourceKind::kAudit));
  CHECK(is_subscribable(ResourceKind::kStatus));
}

TEST_CASE("the URI of every path leads back to it") {
  for (const std::string path :
       {"/a", "/a b/%/#?\"\\", "/\xc3\xa9/\xff\xfe", "/~user/x;y=z,(1)", "/a\nb\x7f"}) {
    const std::string uri = file_uri(path);
    CHECK(is_printable_ascii(uri));
    CHECK(path_of(uri) == path);
  }
  CHECK(file_uri("/w/a b") == "file:///w/a%20b");
  CHECK(output_uri("x") == "agentbox://process/x/output");
}

TEST_CASE("a cursor gives its key back, to its own list only [30]") {
  for (const std::string key : {"", "a", "\xff key\n"}) {
    const std::string cursor = make_page_cursor("things", key);
    CHECK_FALSE(cursor.empty());
    CHECK(read_page_cursor("things", cursor) == key);
    CHECK_FALSE(read_page_cursor("others", cursor));
    CHECK_FALSE(read_page_cursor("things", cursor + "A"));
    CHECK_FALSE(read_page_cursor("things", cursor.substr(1)));
    std::string changed = cursor;
    changed[2] = changed[2] == 'A' ? 'B' : 'A';
    CHECK_FALSE(read_page_cursor("things", changed));
  }
  for (const std::string_view text : {"", "x", "AAAA", "%%%%", "AAAAAAAAAAA="}) {
    CHECK_FALSE(read_page_cursor("things", text));
  }
}
