#include "engine/training/divergence.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine {
namespace {

std::optional<Evaluation::NotFinite> in_forward(std::int64_t step, Session& session,
                                                const planner::Job& job, WindowedText& text) {
  const auto tokens = static_cast<std::size_t>(job.tokens());
  std::vector<std::int32_t> inputs(tokens), targets(tokens);
  text.read((step - 1) * job.batch_size, inputs, targets);
  const auto read = [&](std::int64_t first, std::span<std::int32_t> into_inputs,
                        std::span<std::int32_t> into_targets) {
    const std::int64_t at = first * job.seq_len;
    std::copy_n(inputs.begin() + at, into_inputs.size(), into_inputs.begin());
    std::copy_n(targets.begin() + at, into_targets.size(), into_targets.begin());
  };
  return session.evaluation().find_not_finite(job.batch_size, read);
}

}  // namespace

Diverged located(const Diverged& error, Session& session, const planner::Job& job,
                 WindowedText& text) {
  std::string where;
  if (!error.loss() && error.gradient_unit()) {
    where = "; the first gradient that is not, in the order of backward, is that of " +
            planner::unit_name(job.model, *error.gradient_unit());
  } else if (error.loss() && session.keeps_weights_on_failure()) {
    if (const auto found = in_forward(error.step(), session, job, text)) {
      where = "; the first output that is not, in the order of forward, is that of " +
              planner::unit_name(job.model, found->unit) + ", in micro-batch " +
              std::to_string(found->micro_batch + 1) + " of the step";
    }
  }
  return {error.step(), error.loss(), error.gradient_unit(), where};
}

}  // namespace sluice::engine
