// Text that a model generates, shown as it comes, and how it went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/forward/generated_text.hpp"
#include "engine/forward/generation.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::cli {

/// Text that was generated, what ended it, and how long it took.
struct Generated {
  std::string text;
  std::string ended_by;  ///< "stop" for one of the stops, "end" for an end token, or "length".
  std::vector<std::int32_t> tokens;
  Seconds prompt_time{0}, took{0};
};

/// A function that turns token ids into text by the tokenizer, leaving special tokens out; ids are
/// bytes where `tokenizer` is null. The tokenizer must outlive the function.
[[nodiscard]] engine::GeneratedText::Decode decoder_of(const engine::Tokenizer* tokenizer);

/// Runs a generation on its session; with `show`, prints the text as it comes, and a line feed.
[[nodiscard]] Generated generate(engine::Generation& generation, engine::ForwardSession& session,
                                 engine::GeneratedText& text, bool show);

/// Warns where prompt and new tokens go beyond the positions that the model was made for.
void warn_of_positions(const planner::ModelShape& model, std::int64_t prompt, std::int64_t more);

/// The result of a generation as the JSON of `sluice generate --json`, and as one line of text.
[[nodiscard]] sim::Json result_json(const Generated& result,
                                    const std::vector<std::int32_t>& prompt,
                                    const std::string& weights_from);
[[nodiscard]] std::string result_text(const Generated& result);

}  // namespace sluice::cli
