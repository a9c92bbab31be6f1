// What connects the GPUs of one host, by kind of GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/catalogue/parts.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The fabric of `gpus` GPUs of one kind in one host whose PCIe link copies `link` bytes/s to a
/// GPU: measured rates, or those of a like fabric by the rule in their notes (parts/fabrics.json).
/// Rates of fabrics that go over PCIe are no faster than the link is beside the one they were
/// measured with. Throws BadRequest where nothing is known of what connects such GPUs.
[[nodiscard]] Fabric fabric_of(const GpuPart& gpu, std::int64_t gpus, BytesPerSecond link);

/// The interference of a fabric with this path that nobody measured: that of the first one of
/// parts/fabrics.json.
[[nodiscard]] std::vector<LaneSlowing> usual_interference(FabricPath path);

}  // namespace sluice::planner
