// Text that `eval` computes a loss on: windows of a text file, or all sequences of a data set.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/forward/forward_subject.hpp"
#include "engine/datasets/data.hpp"
#include "engine/forward/text_loss.hpp"

namespace sluice::cli {

/// A text file as tokens of the evaluated model's tokenizer, or with each byte as a token if there
/// is none; `bytes` is the file's length.
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

/// Opens the text or data set that `data` in the subject's settings names, and fills in seq_len and
/// batch_size there where they were not given. Throws BadRequest naming data or --stride.
[[nodiscard]] Evaluated open_evaluated(ForwardSubject& subject);

}  // namespace sluice::cli
