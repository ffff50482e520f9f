// pure: see yaml_text.h.
#include "provision/kube/yaml_text.h"

#include <algorithm>

#include "base/yaml.h"

namespace agentbox::provision::kube {
namespace {

bool is_plain_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./").find(c) != std::string_view::npos;
}

// Begins with a letter or slash, and is not one of the words that YAML 1.1 takes for a value.
bool is_plain(const std::string& text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_plain_byte) ||
      std::string_view("-._0123456789").find(text.front()) != std::string_view::npos) {
    return false;
  }
  const auto read = yaml_to_json("[" + text + "]");
  return read.ok() && *read == Json::array({text});
}

std::string word(const std::string& text) {
  return is_plain(text) ? text : dump_json(OrderedJson(text));
}

bool is_block(const OrderedJson& value) { return value.is_structured() && !value.empty(); }

// VALUE's lines, each after INDENT spaces; the first comes after what the caller has written
// already.
void write(const OrderedJson& value, std::size_t indent, std::string& out) {
  const std::string pad(indent, ' ');
  bool first = true;
  if (value.is_object() && !value.empty()) {
    for (const auto& entry : value.items()) {
      out += (first ? "" : pad) + word(entry.key()) + ":";
      first = false;
      out += is_block(entry.value()) ? "\n" + std::string(indent + 2, ' ') : " ";
      write(entry.value(), indent + 2, out);
    }
    return;
  }
  if (value.is_array() && !value.empty()) {
    for (const OrderedJson& item : value) {
      out += (first ? "" : pad) + "- ";
      first = false;
      write(item, indent + 2, out);
    }
    return;
  }
  out += (value.is_string() ? word(value.get<std::string>()) : dump_json(value)) + "\n";
}

}  // namespace

std::string yaml_text(const OrderedJson& value) {
  std::string out;
  write(value, 0, out);
  return out;
}

}  // namespace agentbox::provision::kube
