#include "planner/requests/memory_in_modules.hpp"

#include <optional>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/memory_kits.hpp"

namespace sluice::planner {
namespace {

/// Whether host memory alone is short.
bool lacks_host_alone(const Memory& memory) {
  return !at(memory, Tier::host).fits() && at(memory, Tier::hbm).fits() &&
         at(memory, Tier::disk).fits();
}

MoreMemory ordered(const Request& request, const Memory& memory) {
  MoreMemory bytes = more_memory(request.machine(), memory);
  const std::optional<Composition> now = find_composition(request.config.machine);
  if (!now || request.config.limits.host || !lacks_host_alone(memory)) return bytes;
  const Bytes needed = at(memory, Tier::host).peak;
  auto enough = with_memory_for(*now, needed);
  const bool same_board = enough.has_value();
  if (!enough) enough = with_board_for(*now, needed);
  if (!enough) return bytes;
  RunConfig config = request.config;
  config.machine = to_text(*enough);
  const std::string kit = to_text(enough->ram), board = enough->cpu;
  return {request.with(std::move(config)).machine(),
          (same_board ? "" : board + " with ") + kit + " instead of " +
              (same_board ? "" : now->cpu + " with ") + to_text(now->ram),
          (same_board ? "" : "--cpu " + board + " ") + "--ram \"" + kit + "\""};
}

}  // namespace

MemoryOrder memory_in_modules(const Request& request) {
  return
      [&request](const ResolvedMachine&, const Memory& memory) { return ordered(request, memory); };
}

}  // namespace sluice::planner
