// pure: see signature.h.
#include "sshd/signature.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <array>
#include <string>

#include "base/c_handle.h"
#include "base/wire.h"

namespace agentbox::sshd {
namespace {

using Key = CHandle<EVP_PKEY, EVP_PKEY_free>;
using KeyContext = CHandle<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using DigestContext = CHandle<EVP_MD_CTX, EVP_MD_CTX_free>;
using Number = CHandle<BIGNUM, BN_free>;
using EcdsaSignature = CHandle<ECDSA_SIG, ECDSA_SIG_free>;
using ParamsBuilder = CHandle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using Params = CHandle<OSSL_PARAM, OSSL_PARAM_free>;

struct Curve {
  std::string_view type;
  const char* group;
  const EVP_MD* (*digest)();
};
constexpr std::array<Curve, 3> kCurves = {{{"ecdsa-sha2-nistp256", "prime256v1", EVP_sha256},
                                           {"ecdsa-sha2-nistp384", "secp384r1", EVP_sha384},
                                           {"ecdsa-sha2-nistp521", "secp521r1", EVP_sha512}}};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

Key key_from(const char* kind, OSSL_PARAM_BLD* parts) {
  const Params params(OSSL_PARAM_BLD_to_param(parts));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return Key();
  }
  return Key(key);
}

bool verifies(EVP_PKEY* key, const EVP_MD* digest, std::string_view data,
              std::string_view signature) {
  const DigestContext context(EVP_MD_CTX_new());
  return key != nullptr && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(data),
                          data.size()) == 1;
}

bool is_ed25519(std::string_view raw, std::string_view data, std::string_view signature) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(raw), raw.size()));
  return verifies(key.get(), nullptr, data, signature);
}

// The numbers r and s, each an SSH string, as libcrypto wants them.
std::string der_of(std::string_view signature) {
  WireReader reader(signature);
  const auto r = reader.take_string();
  const auto s = reader.take_string();
  if (!r || !s || !reader.at_end()) {
    return {};
  }
  Number first = number_of(*r);
  Number second = number_of(*s);
  const EcdsaSignature both(ECDSA_SIG_new());
  if (!first || !second || !both || ECDSA_SIG_set0(both.get(), first.get(), second.get()) != 1) {
    return {};
  }
  static_cast<void>(first.release());  // BOTH owns them from here on
  static_cast<void>(second.release());
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(both.get(), &der);
  const std::string out(reinterpret_cast<const char*>(der),
                        length > 0 ? static_cast<std::size_t>(length) : 0);
  OPENSSL_free(der);
  return out;
}

bool is_ecdsa(const Curve& curve, std::string_view point, std::string_view data,
              std::string_view signature) {
  const ParamsBuilder parts(OSSL_PARAM_BLD_new());
  const std::string der = der_of(signature);
  if (!parts || der.empty() ||
      OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.group, 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return false;
  }
  return verifies(key_from("EC", parts.get()).get(), curve.digest(), data, der);
}

bool is_rsa(const EVP_MD* digest, std::string_view exponent, std::string_view modulus,
            std::string_view data, std::string_view signature) {
  const Number e = number_of(exponent);
  const Number n = number_of(modulus);
  const ParamsBuilder parts(OSSL_PARAM_BLD_new());
  if (!e || !n || !parts ||
      OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return false;
  }
  return verifies(key_from("RSA", parts.get()).get(), digest, data, signature);
}

}  // namespace

bool is_signed_by(const PublicKey& key, std::string_view data, std::string_view signature) {
  WireReader signature_reader(signature);
  const auto name = signature_reader.take_string();
  const auto value = signature_reader.take_string();
  WireReader key_reader(key.blob());
  const auto type = key_reader.take_string();
  const auto first = key_reader.take_string();
  if (!name || !value || !signature_reader.at_end() || !type || !first) {
    return false;
  }
  if (*type == "ssh-ed25519") {
    return *name == *type && is_ed25519(*first, data, *value);
  }
  const auto second = key_reader.take_string();
  if (!second) {
    return false;
  }
  for (const Curve& curve : kCurves) {
    if (*type == curve.type) {
      return *name == *type && is_ecdsa(curve, *second, data, *value);
    }
  }
  const EVP_MD* digest = *name == "rsa-sha2-512"   ? EVP_sha512()
                         : *name == "rsa-sha2-256" ? EVP_sha256()
                                                   : nullptr;
  return *type == "ssh-rsa" && digest != nullptr && is_rsa(digest, *first, *second, data, *value);
}

}  // namespace agentbox::sshd
