#include "engine/forward/generation.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {

Generation::Generation(const planner::Job& job, std::span<const std::int32_t> prompt,
                       const GenerationSettings& settings)
    : job_(job), settings_(settings), sampler_(settings.sampler) {
  check(job.sequence_chunk && settings.new_tokens >= 1, "a job of parts has tokens to add");
  tokens_.reserve(static_cast<std::size_t>(job.seq_len));
  restart(prompt);
}

void Generation::restart(std::span<const std::int32_t> prompt) {
  prompt_ = std::ssize(prompt);
  check(!prompt.empty() && prompt_ + settings_.new_tokens <= job_.seq_len,
        "prompt and new tokens have room");
  tokens_.assign(prompt.begin(), prompt.end());
  part_ = {};
  chosen_.clear();
  over_.store(false);
}

bool Generation::ends(std::int32_t token) const {
  return std::ranges::find(settings_.end_tokens, token) != settings_.end_tokens.end();
}

bool Generation::run(ForwardSession& session, const std::function<bool(std::int32_t)>& next) {
  device_ = &session.device();
  const std::int64_t chunk = *job_.sequence_chunk;
  const std::int64_t passes = (prompt_ + chunk - 1) / chunk + settings_.new_tokens - 1;
  chosen_.resize(static_cast<std::size_t>(passes) + 1);
  passes_before_ = session.passes();
  bool ended = false, refused = false;
  session.run_to(passes_before_ + passes, [&](std::int64_t pass) {
    const auto token = chosen_[static_cast<std::size_t>(pass - passes_before_)];
    if (!token || ended || refused) return;
    ended = ends(*token);
    refused = !ended && !next(*token);
    if (ended || refused) {
      over_.store(true);
      session.request_stop();
    }
  });
  return ended;
}

void Generation::fill(std::span<std::int32_t> tokens, std::int64_t /*pass*/) {
  const std::int64_t first = part_.first + part_.count;
  part_ = {first, over_.load() ? 0 : std::min(std::ssize(tokens), std::ssize(tokens_) - first)};
  std::ranges::copy_n(tokens_.begin() + first, part_.count, tokens.begin());
  device_->place(part_);
}

void Generation::finish(std::span<const std::byte> result, std::int64_t pass) {
  if (part_.count == 0 || part_.first + part_.count < std::ssize(tokens_)) return;
  const std::int32_t token =
      sampler_.next({reinterpret_cast<const float*>(result.data()), result.size() / sizeof(float)});
  tokens_.push_back(token);
  chosen_[static_cast<std::size_t>(pass - passes_before_)] = token;
  if (ends(token)) over_.store(true);
}

}  // namespace sluice::engine
