// pure: see spec_file.h.
#include "provision/spec_file.h"

#include "base/yaml.h"

namespace agentbox::provision {

Result<SpecFile> parse_spec_file(std::string_view text) {
  AB_TRY(map, YamlMap::parse(text));
  SpecFile file;
  map.texts("keys", file.keys);
  map.text("identity", file.identity);
  map.text("workspace", file.workspace);
  map.choice("isolation", file.isolation, {"bubblewrap", "none"});
  AB_CHECK(map.finish());
  return file;
}

}  // namespace agentbox::provision
