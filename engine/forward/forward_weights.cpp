#include "engine/forward/forward_weights.hpp"

#include <mutex>
#include <string>
#include <thread>

#include "engine/model_files/state_pieces.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "planner/effort/parallel_for.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kPlaneElementBytes = 2;

/// Address of each unit's weights: its persistent tensor of part "weights".
std::vector<std::byte*> weight_addresses(const planner::Job& job, const planner::StepGraph& graph,
                                         Device& device) {
  std::vector<std::byte*> addresses(planner::unit_count(job.model), nullptr);
  for (std::size_t unit = 0; unit < addresses.size(); ++unit) {
    const std::string name = "/" + planner::unit_name(job.model, unit);
    for (const planner::Placement& placement : graph.layout.placements) {
      const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
      const bool weights = tensor.name == "weights" + name || tensor.name == "master" + name;
      if (!weights || !tensor.persistent) continue;
      addresses[unit] = device.arena(tensor.arena).data() + placement.offset.count();
    }
    check(addresses[unit] != nullptr, "every unit's weights live somewhere");
  }
  return addresses;
}

}  // namespace

void load_forward_weights(const planner::Job& job, const planner::StepGraph& graph, Device& device,
                          const StateSource& source, const LoadProgress& progress) {
  const std::vector<std::byte*> addresses = weight_addresses(job, graph, device);
  const bool both = job.compute == planner::ComputeType::fp32;
  std::vector<std::int64_t> padded(addresses.size());
  for (std::size_t unit = 0; unit < addresses.size(); ++unit) {
    padded[unit] = planner::unit_padded_size(job.model, unit);
    device.clear(addresses[unit],
                 static_cast<std::size_t>((job.weight_element() * padded[unit]).count()));
  }
  const StatePieces pieces(job.model, {StatePart::weights});
  std::mutex mutex;
  std::int64_t done = 0;
  planner::parallel_for(pieces.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    const StatePiece& piece = pieces[i];
    const planner::TensorSpec& tensor = pieces.tensor(piece);
    std::vector<float> values(static_cast<std::size_t>(piece.elements));
    source.read(piece.part, piece.unit, tensor, piece.first, values);
    std::vector<std::uint16_t> high(values.size()), low(both ? values.size() : 0);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const SplitMaster halves = split_master(values[k]);
      high[k] = halves.high;
      if (both) low[k] = halves.low;
    }
    const std::int64_t offset = tensor.offset + piece.first;
    device.write(std::as_bytes(std::span(high)),
                 addresses[piece.unit] + kPlaneElementBytes * offset);
    if (both) {
      device.write(std::as_bytes(std::span(low)),
                   addresses[piece.unit] + kPlaneElementBytes * (padded[piece.unit] + offset));
    }
    const std::lock_guard lock(mutex);
    done += piece.elements;
    if (progress) progress(done, pieces.elements());
  });
}

}  // namespace sluice::engine
