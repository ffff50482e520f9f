// edge: a whole connection of the door: what a client and a monitor may send, in any order, cut or
// spoiled.
//
// The input is a list of steps: a letter and what it needs (b: a byte, w: two, s: a byte of length
// and text). Other letters are passed over. What must hold is in support/network_child.
//
//   V version        K k exchange of keys, with and without strict ordering      i KEXINIT alone
//   r s raw bytes    p ws a packet of any payload (the length is two bytes)      . wait until the
//   server has read all S service        s s service named         n none     m ss another method
//   P Q an offer: our key, a stranger's A login          a spoiled signature       U another user's
//   Y a stranger's     B another session's O bb open a session: window, packet (powers of two) o s
//   open another kind H E X shell, exec, subsystem: b channel    T b terminal   e bb env, so many
//   x bss any request D bw data        d bb error data           W bb window    F b end   C b close
//   G s global request g b how the monitor answers    w bw, l bw the session, its log say so much
//   q b the session is read c bb the session ends          h the monitor hangs up M the monitor is
//   gone
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/network_child.h"

namespace {

using namespace agentbox;
using namespace agentbox::test;

constexpr std::uint32_t kFirstChannel = 43;  // the library's
constexpr std::size_t kMaxSteps = 300;
constexpr std::size_t kMaxSaid = 8U << 20U;
constexpr unsigned kChannelOpen = 90;

class Script {
 public:
  explicit Script(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool is_over() const { return bytes_.empty(); }
  unsigned byte() {
    const unsigned value = bytes_.empty() ? 0 : static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(bytes_.empty() ? 0 : 1);
    return value;
  }
  std::size_t word() {
    const std::size_t high = byte();
    return high << 8U | byte();
  }
  std::string_view take(std::size_t most) {
    const std::string_view taken = bytes_.substr(0, most);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view text() { return take(byte()); }

 private:
  std::string_view bytes_;
};

// At a largest packet of ten bytes the library writes empty packets for ever: the watchdog ends
// that process, and so would it end this one. The end-to-end tests see to it.
bool is_the_librarys_own_trap(std::string_view payload) {
  if (payload.size() < 5 || static_cast<unsigned char>(payload[0]) != kChannelOpen) {
    return false;
  }
  std::size_t kind = 0;
  for (const char byte : payload.substr(1, 4)) {
    kind = kind << 8U | static_cast<unsigned char>(byte);
  }
  const std::size_t at = 1 + 4 + kind + 8;
  return payload.size() >= at + 4 && payload.substr(at, 4) == ssh_number(10);
}

class Attack {
 public:
  explicit Attack(std::string_view script) : script_(script) {}

  void run() {
    for (std::size_t step = 0;
         step < kMaxSteps && !script_.is_over() && child_.is_open() && said_ < kMaxSaid; ++step) {
      const unsigned kind = script_.byte();
      static_cast<void>(before_keys(kind) || login(kind) || channel(kind) || monitor(kind));
    }
    child_.settle();
    static_cast<void>(child_.finish());
  }

 private:
  void say(const std::string& payload) {
    if (!is_the_librarys_own_trap(payload)) {
      said_ += payload.size();
      child_.wire().put_packet(payload);
    }
  }
  std::string to_channel(unsigned message) {
    return ssh_byte(message) + ssh_number(kFirstChannel + script_.byte() % 20);
  }
  void request(std::string_view name, const std::string& rest) {
    say(to_channel(98) + ssh_string(name) + ssh_byte(1) + rest);
  }
  void exchange(bool strict) {
    SshWire& wire = child_.wire();
    const unsigned before = wire.exchanges();
    wire.begin_exchange(strict);
    child_.settle([&] { return wire.exchanges() > before || wire.is_lost(); });
  }
  void ask(std::string_view method, const std::string& rest) {
    say(ssh_byte(50) + ssh_string("agent") + ssh_string("ssh-connection") + ssh_string(method) +
        rest);
  }
  NetworkChild::Session* session() {
    auto& all = child_.sessions();
    return all.empty() ? nullptr : &all[script_.byte() % all.size()];
  }

  bool before_keys(unsigned kind) {
    SshWire& wire = child_.wire();
    switch (kind) {
      case 'V':
        wire.put_version();
        return true;
      case 'K':
        exchange(true);
        return true;
      case 'k':
        exchange(false);
        return true;
      case 'i':
        wire.put_packet(ssh_byte(20) + std::string(16, 'c') + std::string(45, '\0'));
        return true;
      case 'r':
        wire.put_raw(script_.text());
        return true;
      case 'p':
        say(std::string(script_.take(script_.word())));
        return true;
      case '.':
        child_.settle();
        return true;
      default:
        return false;
    }
  }

  bool login(unsigned kind) {
    static const SigningKey stranger(2);
    const std::string id = child_.wire().session_id();
    const auto offer = [&](const SigningKey& key) {
      ask("publickey", ssh_byte(0) + ssh_string("ssh-ed25519") + ssh_string(key.blob()));
    };
    switch (kind) {
      case 'S':
        say(ssh_byte(5) + ssh_string("ssh-userauth"));
        return true;
      case 's':
        say(ssh_byte(5) + ssh_string(script_.text()));
        return true;
      case 'n':
        ask("none", "");
        return true;
      case 'm': {
        const std::string method(script_.text());
        ask(method, std::string(script_.text()));
        return true;
      }
      case 'P':
        offer(NetworkChild::own_key());
        return true;
      case 'Q':
        offer(stranger);
        return true;
      case 'A':
        child_.log_in(NetworkChild::own_key(), "agent", id);
        return true;
      case 'a':
        ask("publickey",
            ssh_byte(1) + ssh_string("ssh-ed25519") + ssh_string(NetworkChild::own_key().blob()) +
                ssh_string(ssh_string("ssh-ed25519") + ssh_string(std::string(64, '\1'))));
        return true;
      case 'U':
        child_.log_in(NetworkChild::own_key(), "root", id);
        return true;
      case 'Y':
        child_.log_in(stranger, "agent", id);
        return true;
      case 'B':
        child_.log_in(NetworkChild::own_key(), "agent", std::string(32, '\1'));
        return true;
      default:
        return false;
    }
  }

  bool channel(unsigned kind) {
    switch (kind) {
      case 'O': {
        const unsigned window = script_.byte() % 32;
        const unsigned packet = script_.byte() % 32;
        say(ssh_byte(kChannelOpen) + ssh_string("session") + ssh_number(next_channel_++) +
            ssh_number(1U << window) + ssh_number(1U << packet));
        return true;
      }
      case 'o':
        say(ssh_byte(kChannelOpen) + ssh_string(script_.text()) + ssh_number(next_channel_++) +
            ssh_number(1U << 20U) + ssh_number(1U << 15U) + std::string(script_.text()));
        return true;
      case 'H':
        request("shell", "");
        return true;
      case 'E':
        request("exec", ssh_string("cat"));
        return true;
      case 'X':
        request("subsystem", ssh_string("mcp"));
        return true;
      case 'T':
        request("pty-req", ssh_string("xterm") + std::string(16, '\0') + ssh_string(""));
        return true;
      case 'e': {
        const std::string head = to_channel(98) + ssh_string("env") + ssh_byte(0);
        for (unsigned left = script_.byte(); left > 0; --left) {
          say(head + ssh_string("LANG") + ssh_string("C"));
        }
        return true;
      }
      case 'x': {
        const std::string head = to_channel(98);
        const std::string name(script_.text());
        say(head + ssh_string(name) + ssh_byte(1) + std::string(script_.text()));
        return true;
      }
      case 'D': {
        const std::string head = to_channel(94);
        say(head + ssh_string(std::string(script_.word(), 'x')));
        return true;
      }
      case 'd': {
        const std::string head = to_channel(95);
        say(head + ssh_number(1) + ssh_string(std::string(script_.byte(), 'x')));
        return true;
      }
      case 'W': {
        const std::string head = to_channel(93);
        say(head + ssh_number(1U << script_.byte() % 32));
        return true;
      }
      case 'F':
        say(to_channel(96));
        return true;
      case 'C':
        say(to_channel(97));
        return true;
      case 'G':
        say(ssh_byte(80) + ssh_string(script_.text()) + ssh_byte(1));
        return true;
      default:
        return false;
    }
  }

  // The monitor and the box's side; what they do is done when the server has read all that the
  // client said before.
  bool monitor(unsigned kind) {
    switch (kind) {
      case 'g':
        child_.answer_with(static_cast<NetworkChild::Answer>(script_.byte() % 3));
        return true;
      case 'h':
        child_.settle();
        child_.tell(record::HangUp{"as the test says"});
        return true;
      case 'M':
        child_.settle();
        child_.leave_as_monitor();
        return true;
      case 'w':
      case 'l':
      case 'q':
      case 'c':
        child_.settle();
        return box_side(kind);
      default:
        return false;
    }
  }

  bool box_side(unsigned kind) {
    NetworkChild::Session* at = session();
    if (at == nullptr) {
      return true;
    }
    if (kind == 'w' || kind == 'l') {
      const std::string text(script_.word(), 'y');
      static_cast<void>(::send(kind == 'w' ? at->stdio.get() : at->log.get(), text.data(),
                               text.size(), MSG_NOSIGNAL));
    } else if (kind == 'q') {
      std::array<char, 65536>
          unread;  // NOLINT(cppcoreguidelines-pro-type-member-init): thrown away
      while (::read(at->stdio.get(), unread.data(), unread.size()) > 0) {
      }
    } else {
      at->stdio.reset();
      at->log.reset();
      child_.tell(
          record::SessionOver{at->channel, static_cast<record::End>(script_.byte() % 3), 7});
    }
    return true;
  }

  Script script_;
  NetworkChild child_;
  std::uint32_t next_channel_ = 0;
  std::size_t said_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Attack({reinterpret_cast<const char*>(data), size}).run();
  return 0;
}
