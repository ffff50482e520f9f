// pure: what the door speaks, in its order of preference; shown by --check.
#pragma once

namespace agentbox::sshd {

// AEAD first: CTR with a MAC costs the library 20 microseconds a packet more on each side.
inline constexpr const char* kCiphers =
    "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr";
inline constexpr const char* kMacs = "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com";
// Offered before the others where the library that runs has them; libssh has from 0.12 on.
inline constexpr const char* kPostQuantumKeyExchanges =
    "mlkem768x25519-sha256,sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com";
inline constexpr const char* kKeyExchanges = "curve25519-sha256,curve25519-sha256@libssh.org";
// Which of the two is offered depends on the host key there is.
inline constexpr const char* kEd25519HostKeyAlgorithms = "ssh-ed25519";
inline constexpr const char* kRsaHostKeyAlgorithms = "rsa-sha2-512,rsa-sha2-256";
// No ssh-rsa: its signatures are SHA-1. No sk-*: whether one was touched is not checked. The names
// of certificates stand here also while no CA is trusted: the list is fixed when the listener
// starts, and a user_ca may come later.
inline constexpr const char* kUserKeyAlgorithms =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"
    "rsa-sha2-256,ssh-ed25519-cert-v01@openssh.com,ecdsa-sha2-nistp256-cert-v01@openssh.com,"
    "ecdsa-sha2-nistp384-cert-v01@openssh.com,ecdsa-sha2-nistp521-cert-v01@openssh.com,"
    "rsa-sha2-512-cert-v01@openssh.com,rsa-sha2-256-cert-v01@openssh.com";
inline constexpr int kMinRsaUserBits = 2048;
inline constexpr int kMinRsaHostBits = 3072;

}  // namespace agentbox::sshd
