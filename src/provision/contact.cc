// edge: see contact.h.
#include "provision/contact.h"

#include <utility>

#include "provision/door_config.h"

namespace agentbox::provision {

Result<SshClient::Target> target_of(const BoxRecord& record) {
  AB_TRY(key, PublicKey::parse(record.host_key));
  return SshClient::Target{kLocalAddress, record.port, std::move(key)};
}

Contact contact_here(const BoxRecord& record) {
  const auto dial = [record](Deadline deadline) -> Result<DoorLine> {
    AB_TRY(target, target_of(record));
    AB_TRY(client, SshClient::connect(target, deadline));
    return DoorLine{nullptr, std::move(client)};
  };
  return Contact{record, dial};
}

}  // namespace agentbox::provision
