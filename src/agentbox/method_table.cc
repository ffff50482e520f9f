// edge: see method_table.h.
#include "agentbox/method_table.h"

#include <iterator>
#include <utility>

#include "agentbox/completion.h"
#include "agentbox/prompts.h"
#include "agentbox/resources.h"
#include "agentbox/task_methods.h"

namespace agentbox::mcp {
namespace {

void append(std::vector<Method>& all, std::vector<Method> some) {
  std::move(some.begin(), some.end(), std::back_inserter(all));
}

}  // namespace

std::vector<Method> all_methods() {
  std::vector<Method> all;
  append(all, resource_methods());
  append(all, prompt_methods());
  append(all, completion_methods());
  append(all, task_methods());
  return all;
}

}  // namespace agentbox::mcp
