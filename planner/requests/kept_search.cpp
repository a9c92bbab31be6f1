#include "planner/requests/kept_search.hpp"

#include <filesystem>
#include <utility>

#include "planner/files/hash.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/plans/residency.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Number of hexadecimal digits of a hash in file names, 96 bits.
constexpr std::size_t kNameDigits = 24;

std::filesystem::path kept_file(const Request& request) {
  return request.store.root() / "advice" / (search_key(request).substr(0, kNameDigits) + ".json");
}

}  // namespace

std::string search_key(const Request& request) {
  const ResolvedMachine& machine = request.machine();
  CanonicalText key("sluice-advice-plan 2");
  key.add("job", job_hash(request.job()))
      .add("profile", profile_hash(machine.profile))
      .add("costs", request.predictor.costs().hash())
      .add("hbm", machine.hbm.count())
      .add("host", machine.host.count())
      .add("disk", machine.state_on_disk ? machine.disk.count() : 0)
      .add("staged", machine.staged)
      .add("residency", static_cast<std::int64_t>(request.config.residency))
      .add("threads", request.config.threads.value_or(0))
      .add("exhaustive", request.search.exhaustive)
      .add("effort", request.search.effort == 0 ? kUsualEffort : request.search.effort);
  if (request.config.devices > 1) key.add("devices", request.config.devices);
  for (const auto& [name, value] : request.config.plan_overrides) key.add(name, value);
  return key.hash();
}

std::optional<Plan> kept_plan(const Request& request) {
  const std::filesystem::path path = kept_file(request);
  std::error_code absent;
  if (!std::filesystem::exists(path, absent)) return std::nullopt;
  try {
    PlanFile file = read_plan_file(path);
    check_plan_for(file, request.job());
    return std::move(file.plan);
  } catch (const BadRequest&) {
    return std::nullopt;  // Another version wrote the file: it is searched for and written again.
  }
}

void keep_plan(const Request& request, const Prediction& found) {
  if (request.search.until.is_set()) return;
  try {
    write_plan_file(to_plan_file(found), kept_file(request));
  } catch (const EnvironmentError&) {
    // Advice does not need the store.
  }
}

}  // namespace sluice::planner
