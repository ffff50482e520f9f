// edge: what an audit reads that others wrote: the door's answer to --check, its isolation.json,
// and the kernel's status of a process. Whatever is taken is judged and told in every form.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "provision/audit/paper.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::provision::audit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  BoxFacts facts;
  facts.running = true;
  if (auto policy = read_policy(text); policy.ok()) {
    facts.policy = std::move(policy).value();
  }
  if (auto isolation = read_isolation(text); isolation.ok()) {
    facts.isolation = std::move(isolation).value();
  }
  if (const auto status = agentbox::parse_process_status(text); status.ok()) {
    ProcessFact fact;
    static_cast<agentbox::ProcessStatus&>(fact) = *status;
    facts.seen.push_back(fact);
  }
  const Paper paper{"", "", {describe(facts)}};
  const std::string page = render_html(paper);
  for (const char c : render_text(paper) + page) {
    if (c != '\n' && (c < ' ' || c > '~')) {
      std::abort();
    }
  }
  if (page.find("<script") != std::string::npos) {
    std::abort();
  }
  static_cast<void>(agentbox::dump_json(render_json(paper)));
  static_cast<void>(agentbox::dump_json(render_sarif(paper)));
  return 0;
}
