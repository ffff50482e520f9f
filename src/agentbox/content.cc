// pure: see content.h.
#include "agentbox/content.h"

#include <utility>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

OrderedJson data_block(const char* type, const ContentBlock& block) {
  return {{"type", type}, {"data", base64_encode(block.bytes)}, {"mimeType", block.mime_type}};
}

OrderedJson resource_block(const ContentBlock& block) {
  return {
      {"type", "resource"},
      {"resource",
       {{"uri", block.uri}, {"mimeType", block.mime_type}, {"blob", base64_encode(block.bytes)}}}};
}

OrderedJson link_block(const ContentBlock& block) {
  OrderedJson link = {{"type", "resource_link"}, {"uri", block.uri}, {"name", block.name}};
  if (!block.mime_type.empty()) {
    link["mimeType"] = block.mime_type;
  }
  if (block.size) {
    link["size"] = *block.size;
  }
  return link;
}

std::string describe_audio(const ContentBlock& block) {
  return "[audio, " + block.mime_type + ", " + std::to_string(block.bytes.size()) +
         " bytes: this revision of the protocol cannot carry it]";
}

std::string describe_link(const ContentBlock& block) {
  std::string text = "[" + block.name + ": " + block.uri;
  if (!block.mime_type.empty()) {
    text += ", " + block.mime_type;
  }
  if (block.size) {
    text += ", " + std::to_string(*block.size) + " bytes";
  }
  return text + "]";
}

}  // namespace

OrderedJson text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

OrderedJson render_block(const ContentBlock& block, Version version) {
  switch (block.kind) {
    case ContentBlock::Kind::kImage:
      return data_block("image", block);
    case ContentBlock::Kind::kAudio:
      return features(version).audio ? data_block("audio", block)
                                     : text_block(describe_audio(block));
    case ContentBlock::Kind::kResource:
      return resource_block(block);
    case ContentBlock::Kind::kLink:
      return features(version).resource_links ? link_block(block)
                                              : text_block(describe_link(block));
    case ContentBlock::Kind::kText:
      break;
  }
  return text_block(block.bytes);
}

}  // namespace agentbox::mcp
