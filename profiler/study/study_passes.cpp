#include "profiler/study/study_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "planner/files/append_file.hpp"
#include "profiler/fits/boost_fit.hpp"
#include "profiler/fits/interference_fit.hpp"
#include "sim/boost.hpp"

namespace sluice::profiler {
namespace {

constexpr double kWindow = 0.035, kShortest = 250e-6;

}  // namespace

void append_passes(const std::filesystem::path& file, const std::string& name,
                   const planner::StepGraph& graph, const planner::MachineProfile& profile,
                   const MeasuredRun& run) {
  const auto down = lane_spans(graph, run, planner::LaneKind::h2d);
  const auto up = lane_spans(graph, run, planner::LaneKind::d2h);
  std::vector<planner::CostKey> groups;
  sim::LaneRest lane({0, 1, kWindow});
  std::optional<Seconds> before;
  std::string lines;
  for (const ComputeSpan& span : compute_spans(graph, profile, run, groups)) {
    if (before) lane.idle_for(std::max(0.0, (span.start - *before).count()));
    const double seconds = (span.end - span.start).count();
    const planner::Work& work = graph.tasks[span.task].work;
    if (!(work.gemms.empty() && work.attention.empty()) && seconds > kShortest) {
      const Recorder::Span& whole = run.steps[span.step][span.task];
      lines +=
          fmt::format("{} {} {:.4f} {:.9f} {} {} {:.3f} {:.3f}\n", name, groups[span.group].name(),
                      lane.rest(), seconds, work.streamed.count(), work.kernels,
                      overlapped_share(whole, down), overlapped_share(whole, up));
    }
    lane.run_for(seconds);
    before = span.end;
  }
  planner::append_lines(file, lines);
}

}  // namespace sluice::profiler
