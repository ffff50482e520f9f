// edge: Pods and NetworkPolicies as a cluster shows them, or as whoever stands in its place does.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "provision/kube/api.h"
#include "provision/kube/pod_facts.h"
#include "provision/kube/surroundings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox;
  using namespace agentbox::provision;
  using namespace agentbox::provision::kube;
  const auto object = parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!object.ok()) {
    return 0;
  }
  const Json* labels = find_path(*object, "metadata/labels");
  const Json none = Json::object();
  for (const std::string& words : {image_problem(*object), pod_problem(*object), pod_words(*object),
                                   policy_problem(*object, labels == nullptr ? none : *labels)}) {
    // It goes to a terminal.
    if (words.find('\x1b') != std::string::npos || words.find('\n') != std::string::npos ||
        words.size() > 4096) {
      std::abort();
    }
  }
  SandboxFacts facts;
  facts.pod = metadata_text(*object, "name");
  for (const Neighbour& one : neighbours_of(facts, {*object}, {"192.0.2.1", 6443}, {})) {
    if (one.port == 0 ||
        one.address.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos) {
      std::abort();  // it becomes an argument of a program
    }
  }
  return 0;
}
