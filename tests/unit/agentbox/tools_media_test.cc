// edge: files that are shown rather than read, and what counts as which.
#include <string>

#include "agentbox/image_size.h"
#include "agentbox/mime.h"
#include "tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;
using namespace std::string_literals;

namespace {

using Kind = ContentBlock::Kind;

const std::string kPng =
    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\2\0\0\0\3\x08\x06\0\0\0\0\0\0\0"
    "\0\0\0\0IEND\xae\x42\x60\x82"s;
const std::string kGif = "GIF89a\x05\0\x07\0\0\0\0"s;
// An application segment before the frame.
const std::string kJpeg = "\xff\xd8\xff\xe0\0\4..\xff\xff\xc2\0\x0b\x08\0\x10\0\x20\3"s;
const std::string kWav = "RIFF\x24\0\0\0WAVEfmt \x10\0\0\0"s;

std::string webp(const std::string& chunk) { return "RIFF\0\0\0\0WEBP"s + chunk; }
const std::string kWebpPlain = webp("VP8 \0\0\0\0...\x9d\x01\x2a\x2c\x01\xc8\0"s);
const std::string kWebpLossless = webp("VP8L\0\0\0\0\x2f\x2b\xc1\x31\x10\0\0\0\0\0"s);
const std::string kWebpExtended = webp("VP8X\0\0\0\0\0\0\0\0\x2b\1\0\xc7\0\0"s);

bool has_size(const std::string& bytes, std::uint32_t width, std::uint32_t height) {
  const auto size = image_size(bytes);
  return size && size->width == width && size->height == height;
}

}  // namespace

TEST_CASE("a picture tells its size") {
  CHECK(has_size(kPng, 258, 3));
  CHECK(has_size(kGif, 5, 7));
  CHECK(has_size(kJpeg, 32, 16));
  CHECK(has_size(kWebpPlain, 300, 200));
  CHECK(has_size(kWebpLossless, 300, 200));
  CHECK(has_size(kWebpExtended, 300, 200));
  for (const auto& picture : {kPng, kGif, kJpeg, kWebpPlain, kWebpLossless, kWebpExtended}) {
    for (std::size_t bytes = 0; bytes < 10; ++bytes) {
      CHECK_FALSE(image_size(picture.substr(0, bytes)));
    }
  }
  CHECK_FALSE(image_size("GIF89a\0\0\x07\0\0\0\0"s));
  CHECK_FALSE(image_size("\xff\xd8\xff\xe0\0\0\xff\xe0\0\0\xff\xe0"s));
  CHECK_FALSE(image_size(kWav + std::string(40, '\0')));
}

TEST_CASE("a picture whose end is not there yet is told from a whole one") {
  const std::string webp_file = "RIFF\x0a\0\0\0WEBPVP8 .."s;
  for (const auto& picture : {kPng, kGif + ";", kJpeg + "\xff\xd9", webp_file}) {
    CHECK(is_whole_image(picture));
    CHECK(is_whole_image(picture + "more behind it"));
    for (std::size_t bytes = 0; bytes < picture.size(); ++bytes) {
      CHECK_FALSE(is_whole_image(picture.substr(0, bytes)));
    }
  }
}

TEST_CASE("a type is told by marks, then by the name, and words are no marks") {
  CHECK(mime_type("a.bin", kPng) == "image/png");
  CHECK(mime_type("a", kWav) == "audio/wav");
  CHECK(mime_type("a",
                  "\0\0\0\x18"
                  "ftypM4A \0"s) == "audio/mp4");
  CHECK(mime_type("a",
                  "\0\0\0\x18"
                  "ftypavif\0"s) == "image/avif");
  CHECK(mime_type("song.MP3", "\xff\xfb\x90\0"s) == "audio/mpeg");
  CHECK(mime_type("a", "ID3\3\0\0\0"s) == "audio/mpeg");
  CHECK(mime_type("a", "ID3 is a kind of tag") == "text/plain");
  CHECK(mime_type("a", "BMW builds cars") == "text/plain");
  CHECK(mime_type("a", "%PDF-1.7\n") == "application/pdf");
  CHECK(mime_type("a", "%PDF-1.7\n%\342\343") == "application/pdf");
  CHECK(mime_type("Logo.SVG", "<?xml version=\"1.0\"?><svg/>") == "image/svg+xml");
  CHECK(mime_type("logo", "<svg xmlns=\"\"/>") == "image/svg+xml");
  CHECK(mime_type("notes.mp3", "words") == "text/plain");
  CHECK(mime_type("lying.png", "\0\1\2"s) == "application/octet-stream");
}

TEST_CASE("an image is shown, with its size in words before it") {
  ToolFixture box;
  put_file(box.at("pictures/a b.dat"), kPng);
  const auto result = box.call(read_media_tool(), R"({"path":"pictures/a b.dat"})");
  REQUIRE(!result.error);
  CHECK(result.texts ==
        std::vector<std::string>{"path: " + box.at("pictures/a b.dat") +
                                 "\nmime_type: image/png\nsize: " + std::to_string(kPng.size()) +
                                 "\nwidth: 258\nheight: 3\n"});
  CHECK(result.structured.is_null());
  REQUIRE(result.blocks.size() == 1);
  CHECK(result.blocks[0].kind == Kind::kImage);
  CHECK(result.blocks[0].mime_type == "image/png");
  CHECK(result.blocks[0].bytes == kPng);
  CHECK(box.facts().bytes_out == kPng.size());
  CHECK(box.facts().path == box.at("pictures/a b.dat"));
}

TEST_CASE("audio is audio, and what models cannot look at is a resource") {
  ToolFixture box;
  put_file(box.at("a.wav"), kWav);
  put_file(box.at("broken.png"), kPng.substr(0, 12) + "\0\0\0\0"s);
  put_file(box.at("begun.png"), kPng.substr(0, kPng.size() - 1));
  put_file(box.at("\303\244\377%.bmp"), "BM\0\0\0\0"s);
  const auto block = [&](const std::string& name) {
    const auto result = box.call(read_media_tool(), R"({"path":")" + name + "\"}");
    REQUIRE(!result.error);
    REQUIRE(result.blocks.size() == 1);
    return result.blocks[0];
  };
  CHECK(block("a.wav").kind == Kind::kAudio);
  CHECK(block("a.wav").mime_type == "audio/wav");
  CHECK(block("broken.png").kind == Kind::kResource);
  CHECK(block("broken.png").mime_type == "image/png");
  CHECK(block("begun.png").kind == Kind::kResource);
  CHECK(block("broken.png").uri == "file://" + box.at("broken.png"));
  const auto picture = block(R"(\"\\303\\244\\377%.bmp\")");
  CHECK(picture.kind == Kind::kResource);
  CHECK(picture.uri == "file://" + box.root() + "/%C3%A4%FF%25.bmp");
}

TEST_CASE("text is given as text, and where it is long read_file is named") {
  ToolFixture box;
  const std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n";
  put_file(box.at("a.svg"), svg);
  put_file(box.at("long.svg"), svg + std::string(40'000, ' '));
  put_file(box.at("empty"), "");
  // Text as far as one looks, and then not.
  put_file(box.at("late.txt"), std::string(1000, 'a') + "\377\376");
  CHECK(box.text(read_media_tool(), R"({"path":"a.svg"})") ==
        "path: " + box.at("a.svg") + "\nmime_type: image/svg+xml\nsize: 42\n--- content ---\n" +
            svg);
  CHECK(box.text(read_media_tool(), R"({"path":"empty"})").ends_with("--- content ---\n"));
  const auto refused = box.call(read_media_tool(), R"({"path":"long.svg"})");
  REQUIRE(refused.error);
  CHECK(refused.error->code == "TOO_LARGE");
  CHECK(refused.error->hint.find("read_file") != std::string::npos);
  const auto late = box.call(read_media_tool(), R"({"path":"late.txt"})");
  REQUIRE(late.blocks.size() == 1);
  CHECK(late.blocks[0].kind == Kind::kResource);
  CHECK(late.blocks[0].mime_type == "application/octet-stream");
}

TEST_CASE("what is no file inside the workspace, or too large, is refused") {
  ToolFixture box;
  put_file(box.at("a"), kPng);
  REQUIRE(::mkfifo(box.at("fifo").c_str(), 0600) == 0);
  REQUIRE(::symlink("/etc/passwd", box.at("out").c_str()) == 0);
  CHECK(box.code(read_media_tool(), R"({"path":"nope"})") == "ENOENT");
  CHECK(box.code(read_media_tool(), R"({"path":"."})") == "EISDIR");
  CHECK(box.code(read_media_tool(), R"({"path":"fifo"})") == "INVALID_ARGUMENT");
  CHECK(box.code(read_media_tool(), R"({"path":"out"})") == "ESCAPE");
  CHECK(box.code(read_media_tool(), R"({"path":"a","max_bytes":10})") == "TOO_LARGE");
}
