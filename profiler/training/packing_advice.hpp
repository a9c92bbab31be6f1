// Advice to pack documents into sequences, for a run whose sequences are mostly padding.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/datasets/data.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// Padding of a run whose sequences hold one document each, with its numbers of sequences and steps
/// and its predicted time; and what these would be (`packed_`) with several documents in a sequence
/// and as many passes over the data.
struct PackingAdvice {
  double padding = 0;  ///< Share of the sequences' positions that hold no token.
  std::int64_t sequences = 0, packed_sequences = 0;
  std::int64_t steps = 0, packed_steps = 0;
  Seconds time{0}, packed_time{0};  ///< Predicted times of the whole runs.
};

/// Smallest share of padding, and smallest share of sequences that packing saves, for which packing
/// is advised.
inline constexpr double kNotablePadding = 0.1;
inline constexpr double kNotableSaving = 0.2;

/// Share of the positions of a text's sequences that hold no token.
[[nodiscard]] double padding_of(const engine::WindowedText& text);
/// The sequences that packing would make; none where kNotablePadding or kNotableSaving is not
/// reached.
[[nodiscard]] std::optional<engine::PackedSequences> notable_packing(
    const engine::WindowedText& text);

/// Advice on packing=documents, by the prediction of the run's own step; none where kNotablePadding
/// or kNotableSaving is not reached.
[[nodiscard]] std::optional<PackingAdvice> packing_advice(const planner::RunConfig& config,
                                                          const planner::Job& job,
                                                          const planner::Prediction& prediction,
                                                          const planner::SavingPlan& saving,
                                                          const engine::WindowedText& text);

}  // namespace sluice::profiler
