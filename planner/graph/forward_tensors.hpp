// Every tensor that a forward pass alone touches, by arena.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/graph/graph_writer.hpp"
#include "planner/plans/forward_plan.hpp"

namespace sluice::planner {

/// Where a unit's weights lie and how they get to the device: planes of 2 bytes an element, high
/// halves and, for fp32 compute, low ones.
struct ForwardUnit {
  std::string name;
  std::int64_t elements = 0;  ///< Padded.
  Bytes bytes{0};
  std::optional<TensorIndex> host, device;  ///< `device`: resident, or a copy outside the ring.
  std::optional<std::int64_t> slot;
  bool loads = false;
  /// Its experts are loaded behind its router, those that tokens go to.
  bool routed = false;

  /// Where each plane begins.
  [[nodiscard]] std::vector<Bytes> planes() const;
};

struct ForwardTensors {
  static constexpr Bytes kPlaneElement{2};

  ForwardTensors(GraphWriter& writer, const Job& job, ForwardGoal goal, const ForwardPlan& plan);

  std::vector<ForwardUnit> units;
  std::vector<TensorIndex> ring;  ///< Slots of streamed blocks.
  std::int64_t depth = 0;         ///< Loads that run ahead.
  TensorIndex host_tokens{}, tokens{}, workspace{}, full_record{};
  std::vector<TensorIndex> streams[2];  ///< Inputs by unit parity and micro-batch.
  std::optional<TensorIndex> loss_sum, logits;
  std::vector<TensorIndex> key_values;  ///< By block, of ForwardGoal::next_token.
  /// Routes of the block whose experts are loaded, where experts lie, and how many tokens go to on
  /// average; none where blocks are loaded whole.
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
