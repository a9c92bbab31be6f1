#include "profiler/report/report.hpp"

#include <nlohmann/json.hpp>

#include "profiler/report/page.hpp"

namespace sluice::profiler {
namespace {

sim::Json values_json(const std::vector<StepValue>& values) {
  sim::Json list = sim::Json::array();
  for (const StepValue& value : values) list.push_back({value.step, value.value});
  return list;
}

}  // namespace

sim::Json to_json(const Headline& headline) {
  return {{"predicted_s", headline.predicted.count()},
          {"low_s", headline.low.count()},
          {"high_s", headline.high.count()},
          {"measured_s", headline.measured.count()},
          {"steps", headline.steps},
          {"tokens_per_s", headline.tokens_per_s},
          {"bound_s", headline.bound.count()},
          {"bound_by", headline.bound_by}};
}

sim::Json to_json(const Provenance& provenance) {
  sim::Json list = sim::Json::array();
  for (const auto& [name, value] : provenance) list.push_back({name, value});
  return list;
}

std::string report_html(const ReportData& report) {
  sim::Json page = {{"kind", "train"},
                    {"title", report.title},
                    {"subtitle", report.subtitle},
                    {"headline", to_json(report.headline)}};
  add_step(page, report.step);
  page["loss"] = {{"train", values_json(report.train_loss)},
                  {"validation", values_json(report.validation_loss)},
                  {"unigram", report.unigram_entropy.value_or(0)}};
  page["steps"] = values_json(report.step_times);
  page["provenance"] = to_json(report.provenance);
  return page_html(page);
}

}  // namespace sluice::profiler
