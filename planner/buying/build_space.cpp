#include "planner/buying/build_space.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "planner/catalogue/counted_machine.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

struct PricedKit {
  MemoryKit kit;
  BytesPerSecond rate{0};
  double usd = 0;
};

struct PricedDrives {
  SsdSet set;
  Bytes size{0};
  BytesPerSecond rate{0}, write_rate{0};
  double usd = 0;
};

/// Removes what costs no less than another of `list` and is no better in anything. `covers(a, b)`
/// says that `a` is at least as good as `b`, the price included.
template <class T, class Covers>
void keep_front(std::vector<T>& list, const Covers& covers) {
  std::vector<T> kept;
  for (std::size_t i = 0; i < list.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < list.size() && !beaten; ++j) {
      // Where two are equal the first stays.
      beaten = j != i && covers(list[j], list[i]) && (j < i || !covers(list[i], list[j]));
    }
    if (!beaten) kept.push_back(list[i]);
  }
  list = std::move(kept);
}

std::vector<PricedKit> kits_of(const CpuPart& cpu, const PriceList& prices) {
  std::vector<PricedKit> kits;
  for (const std::int64_t count : cpu.counts) {
    for (const std::int64_t size : cpu.module_gib) {
      const MemoryKit kit{
          .count = count, .module_gib = size, .kind = cpu.memory, .speed = cpu.speeds.front()};
      const auto usd = prices.buy(module_text(kit), count);
      if (usd) kits.push_back({.kit = kit, .rate = memory_peak(cpu, kit), .usd = *usd});
    }
  }
  keep_front(kits, [](const PricedKit& a, const PricedKit& b) {
    return a.usd <= b.usd && a.kit.total() >= b.kit.total() && a.rate >= b.rate;
  });
  return kits;
}

std::vector<PricedDrives> drives_of(const CpuPart& cpu, const PriceList& prices) {
  std::vector<PricedDrives> drives;
  for (const SsdPart& ssd : ssd_parts()) {
    if (ssd.pcie > cpu.pcie) continue;
    for (const std::int64_t count : std::array<std::int64_t, 3>{1, 2, 4}) {
      const auto usd = prices.buy("ssd " + ssd.name, count);
      if (!usd) continue;
      drives.push_back(
          {.set = {.count = count, .kind = ssd.name},
           .size = Bytes(ssd.size.count() * count),
           .rate = BytesPerSecond(ssd.read.count() * static_cast<double>(count)),
           .write_rate = BytesPerSecond(ssd.write.count() * static_cast<double>(count)),
           .usd = *usd});
    }
  }
  keep_front(drives, [](const PricedDrives& a, const PricedDrives& b) {
    return a.usd <= b.usd && a.size >= b.size && a.rate >= b.rate;
  });
  std::ranges::stable_sort(drives, {}, &PricedDrives::usd);
  return drives;
}

/// Whether the offer's parts go together, with at least kFewestLanes of several GPUs for each.
bool go_together(const BuildOffer& offer) {
  constexpr std::int64_t kFewestLanes = 8;
  try {
    check_parts(offer.parts);
    return offer.gpus == 1 || offer.lanes >= kFewestLanes;
  } catch (const BadRequest&) {
    return false;
  }
}

/// PCIe lanes of each of several GPUs; 0 where the CPU has too few.
std::int64_t lanes_or_none(const CountedParts& machine) {
  try {
    return lanes_of_each(machine);
  } catch (const BadRequest&) {
    return 0;
  }
}

/// Adds the offers of a group whose GPUs and boards cost `base`.
void add_offers(BuildGroup& group, const CountedParts& bare, double base, const PriceList& prices) {
  const CpuPart& cpu = find_cpu(group.cpu);
  const std::int64_t sockets = sockets_of(cpu, bare.gpus);
  const std::vector<PricedDrives> drives = drives_of(cpu, prices);
  for (const PricedKit& kit : kits_of(cpu, prices)) {
    for (const PricedDrives& set : drives) {
      CountedParts machine = bare;
      machine.parts.ram = kit.kit;
      machine.parts.ssd = set.set;
      BuildOffer offer{
          .parts = machine.parts,
          .gpus = bare.gpus,
          .usd = base + static_cast<double>(sockets) * kit.usd + set.usd,
          .lends_drives = false,
          .memory = Bytes(kit.kit.total().count() * sockets),
          .memory_rate = BytesPerSecond(kit.rate.count() * static_cast<double>(sockets)),
          .cpu_rate = update_rate(cpu) * static_cast<double>(sockets),
          .pcie = cpu.pcie,
          .lanes = bare.gpus == 1 ? 16 : lanes_or_none(machine),
          .drives = set.size,
          .drive_rate = set.rate,
          .drive_write_rate = set.write_rate};
      if (!go_together(offer)) continue;
      if (&set == &drives.front()) group.offers.push_back(offer);
      if (offer.gpus > 1) break;
      offer.lends_drives = true;
      group.offers.push_back(std::move(offer));
    }
  }
  std::ranges::stable_sort(group.offers, {}, &BuildOffer::usd);
}

}  // namespace

bool has_no_less(const BuildOffer& more, const BuildOffer& less) {
  if (more.memory < less.memory || more.memory_rate < less.memory_rate) return false;
  if (more.cpu_rate < less.cpu_rate || more.pcie < less.pcie) return false;
  if (more.lanes < less.lanes) return false;
  if (!less.lends_drives) return true;
  return more.lends_drives && more.drives >= less.drives && more.drive_rate >= less.drive_rate;
}

std::vector<BuildGroup> build_groups(const PriceList& prices,
                                     const std::vector<std::int64_t>& counts) {
  std::vector<BuildGroup> groups;
  for (const GpuPart& gpu : gpu_parts()) {
    const auto card = prices.buy("gpu " + gpu.name);
    if (!card) continue;
    for (const CpuPart& cpu : cpu_parts()) {
      const auto board = prices.buy("cpu " + cpu.name);
      if (!board || !goes_with(gpu, cpu)) continue;
      for (const std::int64_t count : counts) {
        if (count > 1 && gpu.fabric.empty()) continue;
        const CountedParts bare{.gpus = count,
                                .parts = {.gpu = gpu.name, .cpu = cpu.name, .ram = {}, .ssd = {}}};
        BuildGroup group{.gpu = counted_name({.gpus = count, .machine = gpu.name}),
                         .cpu = cpu.name,
                         .offers = {}};
        const double boards = *board * static_cast<double>(sockets_of(cpu, count));
        add_offers(group, bare, *card * static_cast<double>(count) + boards, prices);
        if (!group.offers.empty()) groups.push_back(std::move(group));
      }
    }
  }
  return groups;
}

}  // namespace sluice::planner
