// Every tensor that the graph of forward passes alone touches, by arena.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/graph/graph_writer.hpp"
#include "planner/plans/forward_plan.hpp"

namespace sluice::planner {

/// Where the weights of one unit live and how they get to the device. Weights are planes of 2 bytes
/// an element: high halves and, for fp32 compute, low halves behind them.
struct ForwardUnit {
  std::string name;
  std::int64_t elements = 0;  ///< Number of elements of the unit's weights, padding included.
  Bytes bytes{0};
  /// Tensors that hold the unit's weights: on the host, and on the device outside the ring of
  /// slots; none where the weights are not there.
  std::optional<TensorIndex> host, device;
  std::optional<std::int64_t> slot;
  bool loads = false;
  /// Whether the unit's experts are loaded after its router ran, and of them only those that tokens
  /// go to.
  bool routed = false;
  std::int64_t dense = 0;  ///< Elements of the unit's weights before the first of its experts.

  /// Offset, in bytes from the start of the unit's weights, of each plane: of the high halves and,
  /// for fp32 compute, of the low halves.
  [[nodiscard]] std::vector<Bytes> planes() const;
};

struct ForwardTensors {
  static constexpr Bytes kPlaneElement{2};

  ForwardTensors(GraphWriter& writer, const Job& job, ForwardGoal goal, const ForwardPlan& plan);

  std::vector<ForwardUnit> units;
  /// Device slots that streamed blocks' weights use one after another.
  std::vector<TensorIndex> ring;
  /// Number of weight loads that may be issued ahead of the use of weights that is being computed.
  std::int64_t depth = 0;
  TensorIndex host_tokens{}, tokens{}, workspace{}, full_record{};
  /// Residual stream that a unit reads, by the unit's number modulo 2, then by micro-batch.
  std::vector<TensorIndex> streams[2];
  std::optional<TensorIndex> loss_sum, logits;
  /// Tensors of the keys and values of the context, one for each block; empty unless the goal is
  /// ForwardGoal::next_token.
  std::vector<TensorIndex> key_values;
  /// Data for loading only the chosen experts: the tensor of routes, elements of an expert's
  /// weights, how many experts a block has, and how many of them tokens use on average.
  /// None where blocks are loaded whole.
  struct RoutedExperts {
    TensorIndex routes;
    std::int64_t stride, count, expected;
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
