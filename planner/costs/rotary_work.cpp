#include "planner/costs/rotary_work.hpp"

#include "planner/models/rotary_form.hpp"

namespace sluice::planner {

Bytes general_norm_traffic(const ModelShape& uniform, std::int64_t seq_len, std::int64_t tokens) {
  constexpr std::int64_t kBlocks = 264, kWarps = 8;
  constexpr std::int64_t kRoundBytes = 18'500'000;
  if (uniform.head_norm == HeadNorm::none || !turns_generally(uniform, seq_len)) return Bytes(0);
  // Keys are walked beside queries, of which there are at least as many heads. Norms over all heads
  // together go through them twice.
  const std::int64_t each = (uniform.heads + kWarps - 1) / kWarps;
  const std::int64_t rounds = uniform.head_norm == HeadNorm::full_width ? 2 * each : each;
  return Bytes((tokens + kBlocks - 1) / kBlocks * rounds * kRoundBytes);
}

}  // namespace sluice::planner
