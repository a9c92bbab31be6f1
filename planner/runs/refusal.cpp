#include "planner/runs/refusal.hpp"

#include "sim/bad_requests.hpp"

namespace sluice::planner {

void throw_if_any(const std::vector<Refusal>& refusals) {
  if (refusals.empty()) return;
  if (refusals.size() == 1) throw BadRequest(refusals.front().message);
  std::vector<std::string> messages;
  messages.reserve(refusals.size());
  for (const Refusal& each : refusals) messages.push_back(each.message);
  throw BadRequests(std::move(messages));
}

}  // namespace sluice::planner
