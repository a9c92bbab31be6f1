// The text that `eval` computes a loss on: windows of a text file, or all sequences of a data set.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/forward/forward_subject.hpp"
#include "engine/datasets/data.hpp"
#include "engine/forward/text_loss.hpp"

namespace sluice::cli {

/// A text as tokens of the subject's tokenizer, or as bytes if there is none.
struct EvaluatedText {
  std::vector<std::int32_t> tokens;
  std::int64_t bytes = 0;
};

struct Evaluated {
  EvaluatedText text;
  std::int64_t stride = 0;
  std::unique_ptr<engine::WindowedText> dataset;
  std::unique_ptr<engine::LossWindows> windows;
  std::int64_t tokens = 0, vocabulary = 0;
};

/// Opens the subject's `data` and fills in sizes that were not given. Throws BadRequest naming data
/// or --stride.
[[nodiscard]] Evaluated open_evaluated(ForwardSubject& subject);

}  // namespace sluice::cli
