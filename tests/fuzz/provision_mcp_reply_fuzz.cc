// pure: what a box's tool server answers: an answer is that to the request that was made, and words
// of an error can be printed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/mcp_reply.h"

using namespace agentbox;
using namespace agentbox::provision;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = parse_json({reinterpret_cast<const char*>(data), size});
  if (!message.ok()) {
    return 0;
  }
  static_cast<void>(lists_tool(*message, "read_file"));
  static_cast<void>(text_of_result(*message));
  static_cast<void>(is_error_result(*message));
  const auto answer = answer_to(1, *message);
  const bool good = !answer || (find_member(*message, "id") != nullptr &&
                                (answer->ok() || (is_printable_ascii(answer->error().what) &&
                                                  answer->error().what.size() < 1024)));
  if (!good) {
    std::abort();
  }
  if (answer && answer->ok()) {
    static_cast<void>(lists_tool(**answer, "read_file"));
    static_cast<void>(text_of_result(**answer));
    static_cast<void>(is_error_result(**answer));
  }
  return 0;
}
