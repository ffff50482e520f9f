// pure: what an SSH server offers, read from the first bytes it sends.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentbox::sshd {

/// The lists of a KEXINIT (RFC 4253, 7.1), in the server's order of preference.
struct Offer {
  std::vector<std::string> key_exchanges;
  std::vector<std::string> host_keys;
  std::vector<std::string> ciphers_in;
  std::vector<std::string> ciphers_out;
  std::vector<std::string> macs_in;
  std::vector<std::string> macs_out;
  std::vector<std::string> compression_in;
  std::vector<std::string> compression_out;
};

/// Reads the version line and the KEXINIT that follows it. Code::kUnavailable where STREAM ends
/// before they do; Code::kProtocol where they are something else.
[[nodiscard]] Result<Offer> parse_offer(std::string_view stream);

/// Nothing where OFFER is WANTED, list by list and name by name; else which list differs and how.
/// Two names of the key exchange are no methods: the one that announces extensions may be there,
/// the one that announces strict ordering must be.
[[nodiscard]] Status check_offer(const Offer& offer, const Offer& wanted);

/// The names of a comma-separated LIST.
[[nodiscard]] std::vector<std::string> split_names(std::string_view list);

/// Those names of LIST that are KNOWN, in its order and separated as in it.
[[nodiscard]] std::string names_kept(std::string_view list,
                                     const std::function<bool(const std::string&)>& known);

}  // namespace agentbox::sshd
