#include "planner/requests/basis_json.hpp"

#include <nlohmann/json.hpp>

#include "planner/predictions/interval.hpp"
#include "planner/predictions/narrowing.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

Json number_json(const BasisLine& line) {
  const bool stated = line.unit != BasisUnit::none;
  return {{"name", line.name},
          {"value", stated ? Json(line.value) : Json(nullptr)},
          {"unit", stated ? Json(to_string(line.unit)) : Json(nullptr)},
          {"critical_s", line.time.count()},
          {"relative_deviation", line.relative_deviation},
          {"deviation_s", line.deviation.count()},
          {"group", line.group},
          {"variance_share", line.variance_share},
          {"evidence", to_string(line.grounds)},
          {"source", line.note}};
}

}  // namespace

Json basis_json(const Prediction& prediction) {
  Json numbers = Json::array(), narrow = Json::array();
  for (const BasisLine& line : prediction.basis) numbers.push_back(number_json(line));
  for (const Narrowing& one : narrowings(prediction.basis, prediction.knowledge)) {
    narrow.push_back({{"name", one.name}, {"what", one.what}, {"half_width_s", one.half.count()}});
  }
  return {{"half_width_s", kInterval90 * prediction.errors.deviation().count()},
          {"numbers", numbers},
          {"narrow", narrow},
          {"errors", errors_json(prediction.errors)}};
}

StepErrors read_basis_errors(const std::string& path) {
  const sim::JsonDocument document = sim::parse_json(sim::read_text_file(path), path);
  const sim::JsonObject json(document, path);
  const auto basis = json.find_object("basis");
  if (!basis) json.fail("basis", "is missing: write the file with sluice predict --explain --json");
  return read_errors(basis->object("errors"));
}

}  // namespace sluice::planner
