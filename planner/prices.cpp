#include "planner/prices.hpp"

#include <yaml-cpp/yaml.h>

#include <cmath>

#include "planner/store.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& reason) {
  throw BadRequest(where + ": " + reason);
}

double positive(const YAML::Node& node, const std::string& where) {
  double value = 0;
  try {
    value = node.as<double>();
  } catch (const YAML::Exception&) {
    fail(where, "must be a number of US dollars");
  }
  if (!std::isfinite(value) || value <= 0) fail(where, "must be above 0");
  return value;
}

Price read_price(const YAML::Node& node, const std::string& where) {
  if (!node.IsMap()) fail(where, "must be a map such as {buy_usd: 32000, date: 2026-01-31}");
  Price price;
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    const std::string field = where + "." + key;
    if (key == "buy_usd") {
      price.buy_usd = positive(entry.second, field);
    } else if (key == "rent_usd_per_hour") {
      price.rent_usd_per_hour = positive(entry.second, field);
    } else if (key == "date") {
      price.date = entry.second.as<std::string>();
    } else if (key == "source") {
      price.source = entry.second.as<std::string>();
    } else {
      fail(field, "unknown key" +
                      sim::did_you_mean(key, {"buy_usd", "rent_usd_per_hour", "date", "source"}));
    }
  }
  if (price.date.empty()) fail(where, "date is missing: say when the price was read");
  return price;
}

}  // namespace

std::map<std::string, Price> read_prices(const std::filesystem::path& file) {
  const std::string where = file.string();
  YAML::Node root;
  try {
    root = YAML::Load(read_whole_file(file));
  } catch (const YAML::Exception& error) {
    fail(where, "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  if (!root.IsMap() || root.size() != 1 || !root["prices"] || !root["prices"].IsMap()) {
    fail(where, "must hold one map, \"prices\", of machine names");
  }
  std::map<std::string, Price> prices;
  for (const auto& entry : root["prices"]) {
    const auto machine = entry.first.as<std::string>();
    try {
      prices[machine] = read_price(entry.second, where + ": prices." + machine);
    } catch (const YAML::Exception& error) {
      fail(where + ": prices." + machine, error.msg);
    }
  }
  return prices;
}

}  // namespace sluice::planner
