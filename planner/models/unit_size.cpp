#include "planner/models/unit_size.hpp"

#include "planner/models/muon.hpp"
#include "planner/models/slices.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {

UnitSize unit_size(const Job& job, std::size_t unit) {
  const std::int64_t all = unit_padded_size(job.model, unit);
  return {all, muon_updates(job, unit) ? muon_second_size(job, unit) : all};
}

std::vector<UnitSize> unit_sizes(const Job& job) {
  std::vector<UnitSize> sizes(unit_count(job.model));
  for (std::size_t unit = 0; unit < sizes.size(); ++unit) {
    const std::size_t like = class_representative(job.model, unit);
    sizes[unit] = like == unit ? unit_size(job, unit) : sizes[like];
  }
  return sizes;
}

UnitSize slice_of(const UnitSize& size, std::int64_t ranks) {
  return {slice_parameters(size.parameters, ranks), slice_parameters(size.second, ranks)};
}

Bytes state_bytes(const Job& job, const UnitSize& size) {
  return job.master_bytes(size.parameters) + job.moment_bytes(size.parameters) +
         job.moment_bytes(size.second);
}

}  // namespace sluice::planner
