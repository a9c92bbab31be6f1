// Advice to pack documents into sequences, for a run whose sequences are mostly padding.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/datasets/data.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/requests/saving_plan.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// The same passes over the data, with one document in a sequence and with several.
struct PackingAdvice {
  double padding = 0;  ///< Share of places that hold no token.
  std::int64_t sequences = 0, packed_sequences = 0;
  std::int64_t steps = 0, packed_steps = 0;
  Seconds time{0}, packed_time{0};  ///< Predicted times of the whole runs.
};

/// Smallest share of padding, and smallest share of sequences that packing saves, worth a word.
inline constexpr double kNotablePadding = 0.1;
inline constexpr double kNotableSaving = 0.2;

/// Share of a text's places that hold no token.
[[nodiscard]] double padding_of(const engine::WindowedText& text);
/// The sequences that packing would make, where padding and saving are notable.
[[nodiscard]] std::optional<engine::PackedSequences> notable_packing(
    const engine::WindowedText& text);

/// Advice on packing=documents, by the prediction of the run's own step; none where padding
/// or saving is not notable.
[[nodiscard]] std::optional<PackingAdvice> packing_advice(const planner::RunConfig& config,
                                                          const planner::Job& job,
                                                          const planner::Prediction& prediction,
                                                          const planner::SavingPlan& saving,
                                                          const engine::WindowedText& text);

}  // namespace sluice::profiler
