// report_driver TASKS: the page of a made-up run with that many tasks a step, on stdout.
#include <cstdlib>
#include <iostream>

#include "profiler/report/report.hpp"
#include "tests/profiler/synthetic_step.hpp"

int main(int count, char** words) {
  using namespace sluice;
  if (count != 2) return 2;
  const int tasks = std::atoi(words[1]);
  profiler::ReportData report;
  report.title = "made-up run of " + std::to_string(tasks) + " tasks";
  report.headline = {.predicted = Seconds(1), .measured = Seconds(1.02), .steps = 4};
  report.step.predicted.trace = profiler::test::synthetic_trace(tasks, 1);
  report.step.measured.trace = profiler::test::synthetic_trace(tasks, 1.02);
  for (const sim::TraceSpan& span : report.step.predicted.trace.spans) {
    if (span.kind == "forward") report.step.predicted.critical.insert(span.id);
    report.step.limits[span.id] = {Seconds(1e-3), "pcie_h2d"};
  }
  report.step.observed = "made up";
  if (profiler::is_summed_up(report.step)) report.step.every_task = "trace.json";
  report.provenance = {{"program", "report_driver"}};
  std::cout << profiler::report_html(report);
  return std::cout.good() ? 0 : 1;
}
