// pure: any object read as arguments is either refused in printable words or keeps to the table.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "agentbox/arguments.h"
#include "base/text.h"

namespace {

using namespace agentbox;
using namespace agentbox::mcp;

const std::vector<Argument>& table() {
  static const std::vector<Argument> arguments{
      {.name = "path", .required = true, .min_length = 1, .max_length = 16},
      {.name = "command", .max_length = 16},
      {.name = "limit",
       .type = ArgumentType::kInteger,
       .fallback = std::int64_t{5},
       .minimum = 1,
       .maximum = 100},
      {.name = "timeout_seconds",
       .type = ArgumentType::kNumber,
       .fallback = 1.0,
       .minimum = 0.1,
       .maximum = 60},
      {.name = "deep", .type = ArgumentType::kBoolean},
      {.name = "encoding", .fallback = "utf-8", .choices = {"utf-8", "base64"}},
      {.name = "mode", .shape = Shape::kOctalMode},
      {.name = "if_sha256", .shape = Shape::kSha256},
      {.name = "args", .type = ArgumentType::kStringList, .max_items = 4},
      {.name = "env", .type = ArgumentType::kStringMap},
  };
  return arguments;
}

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = parse_json({reinterpret_cast<const char*>(data), size});
  if (!given.ok() || !given.value().is_object()) {
    return 0;
  }
  const auto read = read_arguments(table(), given.value());
  if (!read.ok()) {
    expect(is_printable_ascii(read.error().what) && read.error().what.size() < 1024);
    return 0;
  }
  const Arguments& arguments = read.value();
  expect(!arguments.text("path").empty() && arguments.text("path").size() <= 16);
  expect(arguments.integer("limit") >= 1 && arguments.integer("limit") <= 100);
  expect(arguments.number("timeout_seconds") >= 0.1 && arguments.number("timeout_seconds") <= 60);
  expect(arguments.text("encoding") == "utf-8" || arguments.text("encoding") == "base64");
  expect(arguments.list("args").size() <= 4);
  expect(!arguments.has("if_sha256") || arguments.text("if_sha256").size() == 64);
  static_cast<void>(arguments.flag("deep"));
  static_cast<void>(arguments.map("env"));
  return 0;
}
