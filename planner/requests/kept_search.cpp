#include "planner/requests/kept_search.hpp"

#include <filesystem>

#include "planner/files/hash.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/plans/residency.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Number of hexadecimal digits of a hash in file names, 96 bits.
constexpr std::size_t kNameDigits = 24;

std::filesystem::path kept_file(const Request& request) {
  const ResolvedMachine& machine = request.machine();
  CanonicalText key("sluice-advice-plan 1");
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
      .add("effort", request.search.effort);
  for (const auto& [name, value] : request.config.plan_overrides) key.add(name, value);
  return request.store.root() / "advice" / (key.hash().substr(0, kNameDigits) + ".json");
}

std::optional<ChosenPlan> kept_plan(const Request& request, const std::filesystem::path& path) {
  std::error_code absent;
  if (!std::filesystem::exists(path, absent)) return std::nullopt;
  try {
    const PlanFile file = read_plan_file(path);
    check_plan_for(file, request.job());
    PredictedStep step = request.predictor.predict(file.plan);
    if (!step.prediction.fits) return std::nullopt;
    return ChosenPlan{.planned = {.best = std::move(step)}};
  } catch (const BadRequest&) {
    return std::nullopt;  // Another version wrote the file: it is searched for and written again.
  }
}

}  // namespace

std::variant<ChosenPlan, Infeasible> choose_kept_plan(const Request& request,
                                                      const PlanOptions& options) {
  if (request.config.plan || request.policy || options.stored) return choose_plan(request, options);
  const std::filesystem::path path = kept_file(request);
  if (auto kept = kept_plan(request, path)) return std::move(*kept);
  auto found = choose_plan(request, options);
  const auto* chosen = std::get_if<ChosenPlan>(&found);
  if (chosen == nullptr || request.search.is_late()) return found;
  try {
    write_plan_file(to_plan_file(chosen->step().prediction), path);
  } catch (const EnvironmentError&) {
    // Advice does not need the store.
  }
  return found;
}

}  // namespace sluice::planner
