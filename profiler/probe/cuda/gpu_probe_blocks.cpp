#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>

#include "engine/cuda/backend/gemm_tuner.hpp"
#include "planner/costs/cost_key.hpp"
#include "profiler/probe/cuda/gpu_probe.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::MeasuredPass;
using planner::Pass;

/// Device memory that libraries take besides the blocks' own: handles, and kernels as they load.
constexpr Bytes kOfLibraries = 1_GiB;

/// A job's times in words, such as "1.2 ms forward, 2.5 ms backward, 3.1 ms of loss".
std::string times_text(const std::vector<MeasuredPass>& passes) {
  std::string text;
  for (const auto& [pass, words] :
       {std::pair{Pass::block_forward, "forward"}, std::pair{Pass::block_backward, "backward"},
        std::pair{Pass::loss, "of loss"}}) {
    const auto found = std::ranges::find_if(passes, [pass = pass](const MeasuredPass& each) {
      const auto named = planner::pass_named_by(planner::CostKey{each.key});
      return named && named->pass == pass;
    });
    if (found == passes.end()) continue;
    text += fmt::format("{}{} +- {:.1f} % {}", text.empty() ? "" : ", ",
                        planner::format_seconds(found->time),
                        100 * (found->deviation / found->time), words);
  }
  return text;
}

}  // namespace

void GpuProbe::keep(const JobPasses& measured) {
  if (!measured.refused.empty()) {
    say("block", text_of(measured.job) + ": left out, " + measured.refused);
    return;
  }
  std::vector<MeasuredPass>& passes = result_.profile.passes;
  for (const MeasuredPass& pass : measured.passes) {
    // Jobs of one shape update the same parameters.
    const bool known = std::ranges::find(passes, pass.key, &MeasuredPass::key) != passes.end();
    if (!known) passes.push_back(pass);
  }
  say("block", text_of(measured.job) + ": " + times_text(measured.passes));
}

void GpuProbe::blocks() {
  const Bytes before = device_room().free;
  const Bytes room = std::max(before - kOfLibraries, Bytes(0));
  const ProbedJobs probed = probed_jobs(depth_, room);
  for (const planner::Job& job : probed.too_large) {
    say("block", text_of(job) + ": left out, needs " +
                     planner::format_bytes(probed_memory(job).total) + " of device memory");
  }
  if (probed.jobs.empty()) return;
  try {
    const engine::GemmTable table = engine::estimated_gemm_table(probed.jobs);
    const char* const note = depth_ == ProbeDepth::quick ? "quick probe" : "full probe";
    for (const JobPasses& measured :
         measure_block_passes(probed.jobs, table, budget_.blocks, note)) {
      keep(measured);
    }
  } catch (const std::exception& error) {
    // The rest of the profile predicts without them.
    result_.warnings.push_back({"blocks", Verdict::warn, error.what(), "sluice doctor"});
  }
  blocks_code_ = std::max(before - device_room().free, Bytes(0));
}

}  // namespace sluice::profiler
