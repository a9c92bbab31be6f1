#include "planner/requests/padded_vocabulary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "planner/costs/cost.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {

namespace {

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", 100 * share);
  return text;
}

}  // namespace

std::optional<PaddedVocabulary> try_padded_vocabulary(const Request& request,
                                                      const PredictedStep& step) {
  Job job = request.predictor.job();
  PaddedVocabulary padding{.tokens = job.model.vocab, .padded = padded_vocabulary(job.model.vocab)};
  if (padding.tokens == padding.padded) return std::nullopt;
  job.model.vocab = padding.padded;
  const Prediction& own = step.prediction;
  const Predictor predictor(std::move(job), request.predictor.machine(), request.calibration,
                            request.predictor.residency(), own.terms, request.predictor.ranks());
  const Prediction padded = predictor.predict(own.plan).prediction;
  padding.step = to_seconds(padded.step);
  padding.ratio = ratio_interval(padded.errors, own.errors);
  padding.gain = std::max(0.0, 1 - padding.step.count() / to_seconds(own.step).count());
  return padding;
}

std::string to_text(const PaddedVocabulary& padding) {
  const std::int64_t percent = std::llround(padding.gain * 1000);
  const std::string gain =
      percent == 0 ? "would win nothing here"
                   : "would make the step " + format_seconds(padding.step) + " (" +
                         std::to_string(percent / 10) + "." + std::to_string(percent % 10) +
                         " % less; 90 %: " + percent_text(1 - padding.ratio.high) + " to " +
                         percent_text(1 - padding.ratio.low) + " % less)";
  return std::to_string(padding.tokens) + " tokens are no multiple of 64; padding them to " +
         std::to_string(padding.padded) + " " + gain +
         " (transformers: resize_token_embeddings(..., pad_to_multiple_of=64))";
}

}  // namespace sluice::planner
