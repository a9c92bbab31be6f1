// Every tensor that a forward pass alone touches, by arena.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/graph/graph_writer.hpp"
#include "planner/plans/forward_plan.hpp"

namespace sluice::planner {

/// A unit's weights: where they live and how they get to the device, in planes of 2 bytes an
/// element (high halves and, for fp32 compute, low halves).
struct ForwardUnit {
  std::string name;
  std::int64_t elements = 0;  ///< Elements of the unit's vector, padding included.
  Bytes bytes{0};
  /// The weights' tensors on the host and on the device, outside the ring.
  std::optional<TensorIndex> host, device;
  std::optional<std::int64_t> slot;
  bool loads = false;
  /// The unit's experts are loaded after its router ran, only those that tokens go to.
  bool routed = false;

  /// Start of each plane in the unit's weights.
  [[nodiscard]] std::vector<Bytes> planes() const;
};

struct ForwardTensors {
  static constexpr Bytes kPlaneElement{2};

  ForwardTensors(GraphWriter& writer, const Job& job, ForwardGoal goal, const ForwardPlan& plan);

  std::vector<ForwardUnit> units;
  std::vector<TensorIndex> ring;  ///< Device slots that streamed blocks use one after another.
  std::int64_t depth = 0;         ///< Weight loads that may run ahead.
  TensorIndex host_tokens{}, tokens{}, workspace{}, full_record{};
  /// Inputs of units by parity of the unit's number, then by micro-batch.
  std::vector<TensorIndex> streams[2];
  std::optional<TensorIndex> loss_sum, logits;
  std::vector<TensorIndex> key_values;  ///< Keys and values by block, for ForwardGoal::next_token.
  /// What the loading of chosen experts needs: the tensor of routes, the experts' place in a block,
  /// their number, and how many of them tokens use on average. None where blocks are loaded whole.
  struct RoutedExperts {
    TensorIndex routes;
    ExpertRange range;
    std::int64_t count, expected;
  };
  std::optional<RoutedExperts> experts;

  [[nodiscard]] TensorIndex weights(std::size_t unit) const {
    const ForwardUnit& each = units[unit];
    return each.slot ? ring[static_cast<std::size_t>(*each.slot)] : each.device.value();
  }

 private:
  void add_experts(GraphWriter& writer, const Job& job);
  void add_units(GraphWriter& writer, const Job& job, const ForwardPlan& plan);
  void add_ring(GraphWriter& writer, const ForwardPlan& plan);
  void add_buffers(GraphWriter& writer, const Job& job, ForwardGoal goal);
};

}  // namespace sluice::planner
