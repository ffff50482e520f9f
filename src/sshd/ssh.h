// edge: the library's objects with one owner each, and the door's side of the handshake.
#pragma once

#include <libssh/libssh.h>
#include <libssh/server.h>

#include <string>

#include "base/handle.h"
#include "base/result.h"

namespace agentbox::sshd {

using SshBind = CHandle<ssh_bind_struct, ssh_bind_free>;
using SshSession = CHandle<ssh_session_struct, ssh_free>;
using SshEvent = CHandle<ssh_event_struct, ssh_event_free>;
using SshKey = CHandle<ssh_key_struct, ssh_key_free>;
using SshString = CHandle<char, ssh_string_free_char>;

/// The host key in PATH: Ed25519, or RSA from 3072 bits, readable by nobody who could not also read
/// it through a mount of ours. Its text is wiped from memory.
[[nodiscard]] Result<SshKey> load_host_key(const std::string& path);

/// The version of the distribution's package that the library came in, where dpkg knows it; empty
/// where the library was loaded from anywhere but the system's own folders.
[[nodiscard]] std::string library_package();

/// The key exchanges of kPostQuantumKeyExchanges that the library has, as it runs; empty: none.
[[nodiscard]] std::string post_quantum_key_exchanges();

/// All key exchanges that are offered, the post-quantum ones first.
[[nodiscard]] std::string key_exchanges();

/// SHA256 fingerprint of a key's public half.
[[nodiscard]] Result<std::string> fingerprint_of(ssh_key key);

/// `TYPE BASE64` of a key's public half.
[[nodiscard]] Result<std::string> public_text_of(ssh_key key);

/// Everything the sessions of one listener share: the host key and the strict algorithm lists. No
/// file of the system's is read.
[[nodiscard]] Result<SshBind> make_bind(SshKey host_key);

/// Nothing where the sessions of BIND offer what was set and nothing else; else what differs. The
/// library drops a name it does not know without a word, so what it kept is read back from a
/// handshake with ourselves.
[[nodiscard]] Status check_kept_algorithms(ssh_bind bind, ssh_keytypes_e host_key_type);

/// Nothing where the library knows every name of the comma-separated LIST as a type of user key.
[[nodiscard]] Status check_user_key_types(const char* list);

/// A session on the accepted SOCKET, which it owns from then on; compression is off.
[[nodiscard]] Result<SshSession> accept_session(ssh_bind bind, UniqueFd socket);

}  // namespace agentbox::sshd
