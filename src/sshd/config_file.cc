// edge: see config_file.h.
#include "sshd/config_file.h"

#include "base/handle.h"

namespace agentbox::sshd {

Result<LoadedConfig> load_config(const std::string& path) {
  AB_TRY(text, read_file_capped(path, kMaxConfigBytes));
  auto config = parse_config(text);
  if (!config.ok()) {
    return std::move(config).error().in(path);
  }
  return LoadedConfig{std::move(text), std::move(config).value()};
}

}  // namespace agentbox::sshd
