// pure: see offer.h.
#include "sshd/offer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace agentbox::sshd {
namespace {

constexpr std::string_view kExtensions = "ext-info-s";
constexpr std::string_view kStrictOrder = "kex-strict-s-v00@openssh.com";
constexpr std::size_t kMaxVersionBytes = 255;
/// RFC 4253, 6.1: what an implementation must be able to take.
constexpr std::size_t kMaxPacketBytes = 35000;
constexpr std::size_t kCookieBytes = 16;
constexpr unsigned char kKexInit = 20;

std::size_t number_at(std::string_view bytes) {
  std::size_t value = 0;
  for (const char byte : bytes.substr(0, 4)) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  return value;
}

// The payload of the first packet after the version line.
Result<std::string_view> first_payload(std::string_view stream) {
  const Error more{Code::kUnavailable, "the offer is not complete"};
  const auto end = stream.find('\n');
  if (end == std::string_view::npos) {
    return stream.size() > kMaxVersionBytes ? Error{Code::kProtocol, "no version line"} : more;
  }
  if (!stream.starts_with("SSH-2.0-")) {
    return Error{Code::kProtocol, "no version line"};
  }
  stream.remove_prefix(end + 1);
  if (stream.size() < 5) {
    return more;
  }
  const std::size_t length = number_at(stream);
  const std::size_t padding = static_cast<unsigned char>(stream[4]);
  if (length > kMaxPacketBytes || length < padding + 2) {
    return Error{Code::kProtocol, "the first packet's length is wrong"};
  }
  if (stream.size() - 4 < length) {
    return more;
  }
  return stream.substr(5, length - padding - 1);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + escape_text(name, 64);
  }
  return text.empty() ? "nothing" : text;
}

Status same(const char* what, const std::vector<std::string>& kept,
            const std::vector<std::string>& wanted) {
  return kept == wanted ? Status{}
                        : Status{Error{Code::kDenied,
                                       std::string(what) + ": the SSH library offers " +
                                           joined(kept) + " where " + joined(wanted) + " was set"}};
}

}  // namespace

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  // An empty name is a name: a list that ends in a comma must not pass for one that does not.
  for (std::size_t start = 0; !list.empty() && start <= list.size();) {
    const auto end = std::min(list.find(',', start), list.size());
    names.emplace_back(list.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

std::string names_kept(std::string_view list,
                       const std::function<bool(const std::string&)>& known) {
  std::string kept;
  for (const std::string& name : split_names(list)) {
    if (known(name)) {
      kept += (kept.empty() ? "" : ",") + name;
    }
  }
  return kept;
}

Result<Offer> parse_offer(std::string_view stream) {
  AB_TRY(payload, first_payload(stream));
  if (payload.size() < 1 + kCookieBytes || static_cast<unsigned char>(payload[0]) != kKexInit) {
    return Error{Code::kProtocol, "the first packet is no KEXINIT"};
  }
  payload.remove_prefix(1 + kCookieBytes);
  Offer offer;
  const std::array lists = {&offer.key_exchanges,  &offer.host_keys,      &offer.ciphers_in,
                            &offer.ciphers_out,    &offer.macs_in,        &offer.macs_out,
                            &offer.compression_in, &offer.compression_out};
  for (auto* list : lists) {
    const std::size_t length = number_at(payload);
    if (payload.size() < 4 || payload.size() - 4 < length) {
      return Error{Code::kProtocol, "a list of the KEXINIT is cut short"};
    }
    *list = split_names(payload.substr(4, length));
    payload.remove_prefix(4 + length);
  }
  return offer;
}

Status check_offer(const Offer& offer, const Offer& wanted) {
  std::vector<std::string> methods = offer.key_exchanges;
  std::erase(methods, kExtensions);
  if (std::erase(methods, kStrictOrder) == 0) {
    return Error{Code::kDenied, "key exchange: the SSH library does not offer strict ordering"};
  }
  AB_CHECK(same("key exchange", methods, wanted.key_exchanges));
  AB_CHECK(same("host key", offer.host_keys, wanted.host_keys));
  AB_CHECK(same("ciphers", offer.ciphers_in, wanted.ciphers_in));
  AB_CHECK(same("ciphers", offer.ciphers_out, wanted.ciphers_out));
  AB_CHECK(same("macs", offer.macs_in, wanted.macs_in));
  AB_CHECK(same("macs", offer.macs_out, wanted.macs_out));
  AB_CHECK(same("compression", offer.compression_in, wanted.compression_in));
  return same("compression", offer.compression_out, wanted.compression_out);
}

}  // namespace agentbox::sshd
