// Transfers between host memory and the disk.
#include <algorithm>

#include "planner/costs/cost_family.hpp"
#include "planner/costs/cost_model.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kReadLink = "disk_read";
constexpr const char* kWriteLink = "disk_write";
constexpr const char* kBothLink = "disk";

/// Bytes of host memory traffic per byte of a disk transfer (a rule): by the drive, and for its
/// checksum.
constexpr double kDramPerByte = 2;
/// Core-seconds of a byte's checksum: XXH3 at 10 GB/s, low for any machine here (estimated).
constexpr double kCoresPerByte = 1e-10;

}  // namespace

std::vector<CostModel::LinkCapacity> ProfileCostModel::disk_links() const {
  std::vector<LinkCapacity> links{{kReadLink, Rate(profile_.disk_read.value.count()), true},
                                  {kWriteLink, Rate(profile_.disk_write.value.count()), true}};
  for (const LinkCapacity& link : links) {
    if (link.capacity.count() > 0) continue;
    throw BadRequest("machine " + profile_.name + ": " + link.name +
                     " has no rate, so nothing can live on its disk: give --set machine." +
                     link.name + "=RATE, or run `sluice probe` there");
  }
  const Rate both(profile_.disk_both.value.count());
  if (both > Rate(0)) links.push_back({kBothLink, both, true});
  return links;
}

TaskCost ProfileCostModel::disk_transfer(const CostKey& key, CopyDirection direction,
                                         Bytes bytes) const {
  const bool reads = direction == CopyDirection::disk_read;
  const Bandwidth& rate = reads ? profile_.disk_read : profile_.disk_write;
  const double size = static_cast<double>(bytes.count());
  TaskCost cost = at_rate(key, size, number_of(rate));
  // A link carries what was measured on it.
  const auto share = [&cost](double capacity) {
    return std::min(1.0, capacity / std::max(cost.cap.count(), 1.0));
  };
  cost.uses.emplace_back(reads ? kReadLink : kWriteLink, share(rate.value.count()));
  const double both = profile_.disk_both.value.count();
  if (both > 0) {
    // Where the other direction alone is faster than both together, its bytes take less of the
    // shared link, and bytes of this direction more, so that both at once move what was measured,
    // half in each direction.
    const Bandwidth& other = reads ? profile_.disk_write : profile_.disk_read;
    const double others = std::min(1.0, both / std::max(other.value.count(), 1.0));
    const double alone = both / std::max(cost.cap.count(), 1.0);
    cost.uses.emplace_back(kBothLink, std::min(2 - others, alone));
  }
  // When both directions run they are equally fast, however much faster one of them is alone.
  if (profile_.device == DeviceKind::cuda) cost.weight = both > 0 ? both / 2 : cost.cap.count();
  share_dram(cost, kDramPerByte);
  share_cores(cost, kCoresPerByte);
  return cost;
}

}  // namespace sluice::planner
