// pure: see neighbours.h.
#include "provision/neighbours.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/ip.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

constexpr std::size_t kMostLines = 256;
constexpr std::array<CheckId, 4> kNetworkChecks = {CheckId::kApiHidden, CheckId::kMetadataHidden,
                                                   CheckId::kKubeletHidden,
                                                   CheckId::kOtherBoxHidden};

bool is_address(const std::string& text) { return ip_bytes(text).has_value(); }

// The words of the first line of TEXT, which is taken off it.
std::vector<std::string> take_words(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  std::vector<std::string> words;
  while (!line.empty() && words.size() < 4) {
    const auto stop = std::min(line.find(' '), line.size());
    words.emplace_back(line.substr(0, stop));
    line.remove_prefix(std::min(stop + 1, line.size()));
  }
  return words;
}

bool is_outcome(const std::string& word) {
  return word == "open" || word == "refused" || word == "silent" || word == "unreachable";
}

const Reached* result_for(const std::vector<Reached>& reached, const Neighbour& neighbour) {
  const auto at = std::find_if(reached.begin(), reached.end(), [&](const Reached& one) {
    return one.address == neighbour.address && one.port == neighbour.port;
  });
  return at == reached.end() ? nullptr : &*at;
}

std::string words_of(const Neighbour& neighbour, const std::string& outcome) {
  return neighbour.what + " " + neighbour.address + " port " + std::to_string(neighbour.port) +
         ": " + outcome;
}

CheckDone judge_one(CheckId id, const std::vector<Neighbour>& neighbours,
                    const std::vector<Reached>& reached) {
  CheckDone done{id, CheckOutcome::kSkipped, {}};
  std::string open;
  std::string all;
  for (const Neighbour& neighbour : neighbours) {
    if (neighbour.check != id) {
      continue;
    }
    const Reached* result = result_for(reached, neighbour);
    const std::string outcome = result == nullptr ? "not tried" : result->outcome;
    const bool bad = result == nullptr || (outcome == "open" && !neighbour.allowed);
    std::string& list = bad ? open : all;
    list += (list.empty() ? "" : ", ") + words_of(neighbour, outcome) +
            (outcome == "open" && neighbour.allowed ? " (its egress allows it)" : "");
  }
  if (open.empty() && all.empty()) {
    done.detail = "no such address is known";
    return done;
  }
  done.outcome = open.empty() ? CheckOutcome::kPassed : CheckOutcome::kFailed;
  done.detail = open.empty() ? all : open;
  return done;
}

}  // namespace

Result<std::vector<Reached>> parse_reached(std::string_view text) {
  std::vector<Reached> all;
  while (!text.empty()) {
    const auto words = take_words(text);
    const auto port = parse_decimal(words.size() == 3 ? words[2] : "");
    if (all.size() >= kMostLines || words.size() != 3 || !is_outcome(words[0]) ||
        !is_address(words[1]) || !port.ok() || *port == 0 || *port > UINT16_MAX) {
      return Error{Code::kProtocol, "what the box says of its network makes no sense"};
    }
    all.push_back({words[0], words[1], static_cast<std::uint16_t>(*port)});
  }
  return all;
}

std::vector<std::string> parse_nameservers(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty() && all.size() < kMostLines) {
    const auto words = take_words(text);
    if (words.size() >= 2 && words[0] == "nameserver" && is_address(words[1])) {
      all.push_back(words[1]);
    }
  }
  return all;
}

std::string first_service_address(const std::string& nameserver) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  auto bytes = ip_bytes(nameserver);
  if (!bytes) {
    return {};
  }
  const bool v4 = bytes->size() == 4;
  if (!v4) {
    bytes->at(14) = 0;
  }
  bytes->back() = 1;
  const char* made = ::inet_ntop(v4 ? AF_INET : AF_INET6, bytes->data(), text.data(), text.size());
  return made == nullptr ? std::string() : std::string(made);
}

std::vector<CheckDone> judge_network(const std::vector<Neighbour>& neighbours,
                                     const std::vector<Reached>& reached, const Reached& control) {
  std::vector<CheckDone> all;
  for (const CheckId id : kNetworkChecks) {
    if (control.outcome != "open") {
      all.push_back({id, CheckOutcome::kFailed,
                     "nothing can be told: the door's own port is " + control.outcome +
                         " from inside the box"});
    } else {
      all.push_back(judge_one(id, neighbours, reached));
    }
  }
  return all;
}

}  // namespace agentbox::provision
