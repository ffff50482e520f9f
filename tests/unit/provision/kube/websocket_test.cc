// pure: tests of provision/kube/websocket.
#include "provision/kube/websocket.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision::kube;

namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) {
    out += static_cast<char>(value);
  }
  return out;
}

// A frame as a server sends it, without a mask.
std::string served(int kind, const std::string& data) {
  std::string out = bytes({0x80 | kind});
  if (data.size() < 126) {
    out += bytes({static_cast<int>(data.size())});
  } else {
    out += bytes({126, static_cast<int>(data.size() >> 8U), static_cast<int>(data.size() & 0xffU)});
  }
  return out + data;
}

}  // namespace

TEST_CASE("websocket: what a client sends is masked") {
  // RFC 6455 section 5.7.
  CHECK(encode_frame({FrameKind::kText, true, "Hello"}, bytes({0x37, 0xfa, 0x21, 0x3d})) ==
        bytes({0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}));
  const std::string middle =
      encode_frame({FrameKind::kBinary, true, std::string(300, 'x')}, "abcd");
  CHECK(middle.substr(0, 4) == bytes({0x82, 0xfe, 0x01, 0x2c}));
  const std::string large =
      encode_frame({FrameKind::kBinary, true, std::string(70'000, 'x')}, "abcd");
  CHECK(large.substr(0, 10) == bytes({0x82, 0xff, 0, 0, 0, 0, 0, 1, 0x11, 0x70}));
}

TEST_CASE("websocket: a server's frames arrive in any pieces") {
  const std::string stream = served(2, "one") + served(9, "") + served(2, std::string(300, 'y'));
  for (std::size_t piece = 1; piece < stream.size(); piece += 7) {
    FrameReader reader;
    std::vector<Frame> all;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      auto frames = reader.feed(std::string_view(stream).substr(at, piece));
      REQUIRE(frames.ok());
      all.insert(all.end(), frames->begin(), frames->end());
    }
    REQUIRE(all.size() == 3);
    CHECK(all[0].data == "one");
    CHECK(all[1].kind == FrameKind::kPing);
    CHECK(all[2].data.size() == 300);
  }
}

TEST_CASE("websocket: frames that no server sends") {
  CHECK_FALSE(FrameReader().feed(bytes({0x82, 0x81})).ok());                            // masked
  CHECK_FALSE(FrameReader().feed(bytes({0xc2, 0x01})).ok());                            // reserved
  CHECK_FALSE(FrameReader().feed(bytes({0x83, 0x01})).ok());                            // kind 3
  CHECK_FALSE(FrameReader().feed(bytes({0x82, 127, 0, 0, 0, 0, 0x7f, 0, 0, 0})).ok());  // 2 GiB
  CHECK_FALSE(
      FrameReader().feed(bytes({0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})).ok());
}

TEST_CASE("websocket: whether the other side takes it up") {
  const std::string good =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n";
  CHECK(check_upgrade(good, "v4.channel.k8s.io").ok());
  CHECK_FALSE(check_upgrade(good, "v5.channel.k8s.io").ok());
  const Status barred = check_upgrade("HTTP/1.1 403 Forbidden\r\n\r\n", "v4.channel.k8s.io");
  REQUIRE_FALSE(barred.ok());
  CHECK(barred.error().os_errno == EACCES);
  CHECK_FALSE(check_upgrade("HTTP/1.1 101 x\r\n\r\n", "v4.channel.k8s.io").ok());
  CHECK_FALSE(check_upgrade("", "v4.channel.k8s.io").ok());
}

TEST_CASE("websocket: a port's data, and what went wrong") {
  const auto message = [](const std::string& data) {
    return Frame{FrameKind::kBinary, true, data};
  };
  PortChannels channels(2222);
  const std::string number = bytes({0xae, 0x08});
  CHECK(channels.take(message(bytes({0}) + number)).value().empty());
  CHECK(channels.take(message(bytes({1}) + number)).value().empty());
  CHECK(channels.take(message(bytes({0}) + "SSH-2.0")).value() == "SSH-2.0");
  CHECK(channels.take(message("")).value().empty());
  CHECK(channels.take({FrameKind::kPing, true, "x"}).value().empty());
  CHECK(channels.take(message(bytes({1}) + "refused")).error().what ==
        "the port cannot be reached: refused");
  CHECK(channels.take({FrameKind::kClose, true, ""}).error().code == Code::kUnavailable);
  CHECK_FALSE(channels.take(message(bytes({2}) + "x")).ok());
  CHECK_FALSE(PortChannels(22).take(message(bytes({0}) + number)).ok());
}
