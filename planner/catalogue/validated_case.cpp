#include "planner/catalogue/validated_case.hpp"

#include <algorithm>
#include <cmath>

#include "planner/catalogue/catalogue_files.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

std::vector<ValidatedCase> read_cases() {
  std::vector<ValidatedCase> all;
  for (const CatalogueFile& file : catalogue_parts_files()) {
    if (file.name != "cases") continue;
    const sim::JsonDocument parsed = sim::parse_json(file.text, "catalogue cases");
    const sim::JsonObject json(parsed, "catalogue cases");
    for (const auto& row : json.objects("cases")) {
      all.push_back({.name = row.text("name"),
                     .gpu = row.text("gpu"),
                     .architecture = row.text("architecture"),
                     .model = row.text("model"),
                     .parameters = row.integer("parameters"),
                     .seq_len = row.integer("seq_len"),
                     .tokens = row.integer("tokens"),
                     .measured = row.number("measured_tokens_per_s"),
                     .predicted = row.number("predicted_tokens_per_s"),
                     .source = json.text("source")});
    }
  }
  return all;
}

double distance(std::int64_t a, std::int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

}  // namespace

const std::vector<ValidatedCase>& validated_cases() {
  static const std::vector<ValidatedCase> cases = read_cases();
  return cases;
}

const ValidatedCase& nearest_case(const Job& job, const MachineProfile& machine) {
  constexpr double kOtherArchitecture = 3;
  const std::int64_t parameters = parameter_count(job.model);
  const auto far = [&](const ValidatedCase& one) {
    return (one.architecture == machine.architecture ? 0 : kOtherArchitecture) +
           distance(one.parameters, parameters) + distance(one.tokens, job.tokens()) +
           distance(one.seq_len, job.seq_len);
  };
  return *std::ranges::min_element(validated_cases(), {}, far);
}

std::string to_text(const ValidatedCase& found) {
  const auto tenths = std::lround(1000 * found.error());
  std::string percent =
      std::to_string(std::abs(tenths) / 10) + "." + std::to_string(std::abs(tenths) % 10);
  return found.model + " on " + found.gpu + ", " + std::to_string(found.tokens) +
         " tokens a step: measured " + percent + " % " + (tenths < 0 ? "fewer" : "more") +
         " tokens/s than predicted";
}

}  // namespace sluice::planner
