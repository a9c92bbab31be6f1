#include "cli/forward/generated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/shown/progress_stream.hpp"
#include "sim/units_text.hpp"
#include "sim/utf8.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

double tokens_per_s(const Generated& result) {
  const auto more = static_cast<double>(std::max<std::int64_t>(0, std::ssize(result.tokens) - 1));
  const Seconds time = result.took - result.prompt_time;
  return time.count() > 0 ? more / time.count() : 0;
}

}  // namespace

engine::GeneratedText::Decode decoder_of(const engine::Tokenizer* tokenizer) {
  if (tokenizer != nullptr) {
    return [tokenizer](std::span<const std::int32_t> tokens) {
      return tokenizer->decode(tokens, engine::Tokenizer::Special::skipped);
    };
  }
  return [](std::span<const std::int32_t> tokens) {
    std::string bytes;
    bytes.reserve(tokens.size());
    for (const std::int32_t token : tokens) {
      if (token < 256) bytes.push_back(static_cast<char>(token));
    }
    return sim::with_replacements(bytes);
  };
}

Generated generate(engine::Generation& generation, engine::ForwardSession& session,
                   engine::GeneratedText& text, bool show) {
  Generated result;
  const auto began = SteadyClock::now();
  const auto give_out = [&](const std::string& more) {
    if (more.empty()) return;
    stream_progress("generating", std::ssize(text.tokens()), std::nullopt, {{"text", more}});
    if (!show) return;
    std::fputs(more.c_str(), stdout);
    std::fflush(stdout);
  };
  const bool ended = generation.run(session, [&](std::int32_t token) {
    if (text.tokens().empty()) result.prompt_time = SteadyClock::now() - began;
    give_out(text.add(token));
    return !text.stopped();
  });
  if (!text.stopped()) give_out(text.finish());
  if (show) {
    std::fputs("\n", stdout);
    std::fflush(stdout);
  }
  result.took = SteadyClock::now() - began;
  result.ended_by = text.stopped() ? "stop" : ended ? "end" : "length";
  result.text = text.text();
  result.tokens = text.tokens();
  return result;
}

void warn_of_positions(const planner::ModelShape& model, std::int64_t prompt, std::int64_t more) {
  const auto most = model.max_positions;
  if (!most || prompt + more <= *most) return;
  sim::warn(fmt::format(
      "the prompt's {} tokens and up to {} new ones go beyond the {} positions that the model was "
      "made for (max_position_embeddings): what it writes there means little; give a shorter "
      "prompt, or --max-new-tokens",
      prompt, more, *most));
}

sim::Json result_json(const Generated& result, const std::vector<std::int32_t>& prompt,
                      const std::string& weights_from) {
  return {{"weights_from", weights_from},
          {"prompt_ids", prompt},
          {"ids", result.tokens},
          {"new_tokens", result.tokens.size()},
          {"text", result.text},
          {"ended_by", result.ended_by},
          {"prompt_s", result.prompt_time.count()},
          {"seconds", result.took.count()},
          {"tokens_per_s", tokens_per_s(result)}};
}

std::string result_text(const Generated& result) {
  return fmt::format("{} tokens, ended by {}: {} for the first, then {:.2f} tokens/s\n",
                     result.tokens.size(), result.ended_by,
                     planner::format_seconds(result.prompt_time), tokens_per_s(result));
}

}  // namespace sluice::cli
