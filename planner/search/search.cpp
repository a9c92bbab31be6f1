#include "planner/search/search.hpp"

#include "planner/effort/search_settings.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/search/disk_search.hpp"
#include "planner/search/memory_search.hpp"

namespace sluice::planner {

std::variant<Planned, Infeasible> search(const Predictor& predictor,
                                         const SearchSettings& settings) {
  if (pins_use_disk(predictor, settings)) return search_with_disk(predictor, settings, nullptr);
  auto found = search_in_memory(predictor, settings);
  const auto* infeasible = std::get_if<Infeasible>(&found);
  if (infeasible == nullptr || !predictor.machine().state_on_disk) return found;
  if (!may_use_disk(predictor.job())) return found;
  return search_with_disk(predictor, settings, infeasible);
}

}  // namespace sluice::planner
