#include "profiler/training/packing_advice.hpp"

#include <algorithm>
#include <cmath>

#include "profiler/training/run_times.hpp"

namespace sluice::profiler {

double padding_of(const engine::WindowedText& text) {
  const std::int64_t sequences = text.training_windows() + text.validation_windows();
  return 1 -
         static_cast<double>(text.used_places()) / static_cast<double>(sequences * text.seq_len());
}

std::optional<engine::PackedSequences> notable_packing(const engine::WindowedText& text) {
  if (padding_of(text) < kNotablePadding) return std::nullopt;
  const auto packed = text.if_packed();
  if (!packed) return std::nullopt;
  const auto share =
      static_cast<double>(packed->training) / static_cast<double>(text.training_windows());
  return share <= 1 - kNotableSaving ? packed : std::nullopt;
}

std::optional<PackingAdvice> packing_advice(const planner::RunConfig& config,
                                            const planner::Job& job,
                                            const planner::Prediction& prediction,
                                            const planner::SavingPlan& saving,
                                            const engine::WindowedText& text) {
  const auto packed = notable_packing(text);
  if (!packed) return std::nullopt;
  PackingAdvice advice{.padding = padding_of(text),
                       .sequences = text.training_windows() + text.validation_windows(),
                       .packed_sequences = packed->training + packed->validation,
                       .steps = config.steps};
  // As many passes over the documents: steps fall as training sequences do, rounded up.
  const double share =
      static_cast<double>(packed->training) / static_cast<double>(text.training_windows());
  planner::RunConfig shorter = config;
  shorter.steps = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(static_cast<double>(config.steps) * share)));
  advice.packed_steps = shorter.steps;
  constexpr std::int64_t kFromTheStart = 0;
  advice.time = run_times(config, job, prediction, saving, text, kFromTheStart).all();
  advice.packed_time =
      run_times(shorter, job, prediction, saving, packed->validation, kFromTheStart).all();
  return advice;
}

}  // namespace sluice::profiler
