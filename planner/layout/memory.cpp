#include "planner/layout/memory.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "planner/layout/collective_memory.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::planner {
namespace {

struct Range {
  std::int64_t begin, end;
  bool persistent;
  const std::string* part;
};

/// Order of the ranges that cover a byte: the byte counts for the persistent, larger, earlier one.
struct Priority {
  const std::vector<Range>* ranges;
  bool operator()(std::size_t a, std::size_t b) const {
    const auto key = [this](std::size_t i) {
      const Range& r = (*ranges)[i];
      return std::tuple(!r.persistent, r.begin - r.end, i);
    };
    return key(a) < key(b);
  }
};

}  // namespace

std::vector<std::pair<std::string, Bytes>> arena_parts(const StepGraph& graph, Arena arena) {
  std::vector<Range> ranges;
  for (const Placement& placement : graph.layout.placements) {
    const StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    if (tensor.arena != arena || tensor.bytes.count() == 0) continue;
    const std::int64_t begin = placement.offset.count();
    ranges.push_back({begin, begin + tensor.bytes.count(), tensor.persistent, &tensor.part});
  }
  std::vector<std::tuple<std::int64_t, bool, std::size_t>> edges;  // byte, opens, range
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    edges.emplace_back(ranges[i].begin, true, i);
    edges.emplace_back(ranges[i].end, false, i);
  }
  std::sort(edges.begin(), edges.end());
  std::set<std::size_t, Priority> open(Priority{&ranges});
  std::map<std::string, std::int64_t> bytes;
  const std::int64_t peak = graph.layout.bytes(arena).count();
  std::int64_t at = 0;
  for (const auto& [byte, opens, range] : edges) {
    bytes[open.empty() ? "alignment" : *ranges[*open.begin()].part] += byte - at;
    at = byte;
    if (opens) {
      open.insert(range);
    } else {
      open.erase(range);
    }
  }
  bytes["alignment"] += peak - at;
  std::vector<std::pair<std::string, Bytes>> parts;
  for (const auto& [part, count] : bytes) {
    if (count != 0) parts.emplace_back(part, Bytes(count));
  }
  return parts;
}

Bytes context_bytes(const MachineProfile& profile) {
  if (profile.device != DeviceKind::cuda) return Bytes(0);
  if (!(profile.context.value > 0)) return kCudaContext;
  return Bytes(static_cast<std::int64_t>(profile.context.value));
}

Bytes outside_arena_bytes(const Job& job, const MachineProfile& profile) {
  if (profile.device != DeviceKind::cuda) return Bytes(0);
  return context_bytes(profile) + rope_table_bytes(job) + fp8_weight_bytes(job);
}

double page_table_share(const ResolvedMachine& machine) {
  constexpr double kEntryBytes = 8, kPageBytes = 4096;
  const bool pins = machine.profile.device == DeviceKind::cuda && !machine.staged;
  return pins ? kEntryBytes / kPageBytes : 0;
}

Bytes page_table_bytes(const ResolvedMachine& machine, Bytes host_arena) {
  return Bytes(std::llround(page_table_share(machine) * static_cast<double>(host_arena.count())));
}

Memory memory_of(const StepGraph& graph, const ResolvedMachine& machine) {
  const bool cuda = machine.profile.device == DeviceKind::cuda;
  // Each rank has a GPU of its own; host memory and disk are shared.
  const auto of_ranks = [&graph](Arena arena) {
    auto parts = arena_parts(graph, arena);
    for (auto& [part, bytes] : parts) bytes = bytes * graph.ranks;
    return parts;
  };
  const Bytes host_arenas = graph.layout.host_bytes_of(graph.ranks, graph.hosts);
  Memory memory;
  TierMemory& hbm = at(memory, Tier::hbm);
  hbm.parts = arena_parts(graph, Arena::device);
  hbm.peak = graph.layout.device_bytes;
  hbm.capacity = machine.hbm;
  if (cuda) {
    const Bytes context = context_bytes(machine.profile);
    const Bytes tables = page_table_bytes(machine, host_arenas);
    hbm.parts.emplace_back("context", context);
    hbm.parts.emplace_back("rope tables", graph.rope_tables);
    if (graph.fp8_weights > Bytes(0)) hbm.parts.emplace_back("FP8 weights", graph.fp8_weights);
    hbm.parts.emplace_back("page tables", tables);
    hbm.peak += context + graph.rope_tables + graph.fp8_weights + tables;
    if (graph.ranks > 1) {
      hbm.parts.emplace_back("collectives", collective_bytes(DeviceKind::cuda, graph.ranks));
      hbm.peak += hbm.parts.back().second;
    }
  }
  TierMemory& host = at(memory, Tier::host);
  host.parts = of_ranks(Arena::host);
  for (const auto& [part, bytes] : arena_parts(graph, Arena::shared)) {
    host.parts.emplace_back("shared " + part, bytes * graph.hosts);
  }
  host.parts.emplace_back("process", process_bytes(machine.profile.device));
  host.peak = host_arenas + host.parts.back().second;
  host.capacity = machine.host;
  TierMemory& disk = at(memory, Tier::disk);
  disk.parts = of_ranks(Arena::disk);
  disk.peak = graph.layout.disk_bytes * graph.ranks;
  disk.capacity = machine.disk;
  return memory;
}

std::optional<std::pair<Tier, Bytes>> shortage_of(const Memory& memory) {
  std::optional<std::pair<Tier, Bytes>> worst;
  double share = 0;
  for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
    const TierMemory& used = at(memory, tier);
    if (used.fits()) continue;
    const double missing = used.missing() / used.peak;
    if (missing > share) worst = {tier, used.missing()};
    share = std::max(share, missing);
  }
  return worst;
}

}  // namespace sluice::planner
