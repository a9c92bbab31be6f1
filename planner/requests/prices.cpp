#include "planner/requests/prices.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/files/yaml_document.hpp"
#include "planner/requests/read_instances.hpp"
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
  if (price.rent_usd_per_hour) price.rent_date = price.date;
  return price;
}

/// Throws BadRequest for a machine that does not exist, since its price would go unnoticed.
/// Profiles of one's own are files.
void require_machine(const std::string& name) {
  if (name.ends_with(".json") || name == "here") return;
  const std::size_t times = name.find("x-");
  const bool node =
      times != std::string::npos && times > 0 && name.find_first_not_of("0123456789") == times;
  if (node) {
    (void)find_gpu(name.substr(times + 2));
  } else {
    (void)find_machine(name);
  }
}

void require_part(const std::string& name) {
  const std::string kind = name.substr(0, name.find(' '));
  const std::string what = name.substr(std::min(name.size(), kind.size() + 1));
  if (kind == "gpu") {
    (void)find_gpu(what);
  } else if (kind == "cpu") {
    (void)find_cpu(what);
  } else if (kind == "ssd") {
    (void)find_ssd(what);
  } else {
    try {
      (void)parse_memory_kit("1x" + name);
    } catch (const BadRequest&) {
      throw BadRequest(
          "is no part: write \"gpu NAME\", \"cpu NAME\", \"64 GiB DDR5-5600\" or "
          "\"ssd NAME\" (sluice machines parts)");
    }
  }
}

std::map<std::string, Price> read_section(const YAML::Node& section, const std::string& where,
                                          void (*require)(const std::string&)) {
  if (!section.IsMap()) fail(where, "must be a map of names");
  std::map<std::string, Price> prices;
  for (const auto& entry : section) {
    const auto name = entry.first.as<std::string>();
    const std::string field = where + "." + name;
    try {
      prices[name] = read_price(entry.second, field);
    } catch (const YAML::Exception& error) {
      fail(field, error.msg);
    }
    try {
      require(name);
    } catch (const BadRequest& error) {
      fail(field, error.what());
    }
  }
  return prices;
}

PriceList price_list(const YAML::Node& root, const std::string& where) {
  if (!root.IsMap() || (!root["prices"] && !root["parts"] && !root["instances"])) {
    fail(where,
         "must hold a map \"prices\" of machine names, \"parts\" of part names, \"instances\" of "
         "clouds, or several of them");
  }
  PriceList list;
  for (const auto& section : root) {
    const auto name = section.first.as<std::string>();
    const std::string field = where + ": " + name;
    if (name == "instances") {
      list.instances = read_instances(section.second, field);
    } else if (name == "prices") {
      list.machines = read_section(section.second, field, require_machine);
    } else if (name == "parts") {
      list.parts = read_section(section.second, field, require_part);
    } else {
      fail(where,
           name + ": unknown key" + sim::did_you_mean(name, {"prices", "parts", "instances"}));
    }
  }
  return list;
}

/// Parts as which a machine is bought: the name of each in a price list, and how many.
std::vector<std::pair<std::string, std::int64_t>> parts_of(const CountedParts& machine) {
  const Composition& parts = machine.parts;
  const std::int64_t sockets = sockets_of(find_cpu(parts.cpu), machine.gpus);
  return {{"gpu " + parts.gpu, machine.gpus},
          {"cpu " + parts.cpu, sockets},
          {module_text(parts.ram), sockets * parts.ram.count},
          {"ssd " + parts.ssd.kind, parts.ssd.count}};
}

}  // namespace

std::optional<double> PriceList::buy(const std::string& part, std::int64_t count) const {
  const auto found = parts.find(part);
  if (found == parts.end() || !found->second.buy_usd) return std::nullopt;
  return *found->second.buy_usd * static_cast<double>(count);
}

Price PriceList::of(const std::string& machine) const {
  if (const auto cluster = cluster_named(machine)) return of_hosts(*cluster);
  if (const auto found = instances.find(machine); found != instances.end()) {
    const Instance& one = found->second;
    return {.buy_usd = {},
            .rent_usd_per_hour = one.usd_per_hour,
            .date = one.date,
            .source = one.address,
            .rent_date = one.date};
  }
  Price price;
  if (const auto found = machines.find(machine); found != machines.end()) price = found->second;
  if (price.buy_usd) return price;
  const std::optional<CountedParts> composition = find_counted_parts(machine);
  if (!composition) return price;
  double sum = 0;
  std::string oldest;
  for (const auto& [part, count] : parts_of(*composition)) {
    const auto cost = buy(part, count);
    if (!cost) return with_further_cards(std::move(price), machine, *composition);
    sum += *cost;
    const std::string& date = parts.at(part).date;
    if (oldest.empty() || date < oldest) oldest = date;
  }
  price.buy_usd = sum;
  price.date = oldest;
  price.source += price.source.empty() ? "sum of its parts" : "; to buy, the sum of its parts";
  return price;
}

/// So many times the price of one host; what joins hosts has no price here.
Price PriceList::of_hosts(const Cluster& cluster) const {
  Price price = of(cluster.machine);
  const auto hosts = static_cast<double>(cluster.hosts);
  if (price.rent_usd_per_hour) *price.rent_usd_per_hour *= hosts;
  if (price.buy_usd) *price.buy_usd *= hosts;
  if (price.buy_usd) price.source += price.source.empty() ? "without network" : "; without network";
  return price;
}

/// `price` of a machine with several GPUs on one socket, to buy: that with one of them, and the
/// further cards; unchanged for other machines, and where either has no price.
Price PriceList::with_further_cards(Price price, const std::string& machine,
                                    const CountedParts& parts) const {
  const bool is_one = parts.gpus == 1 || sockets_of(find_cpu(parts.parts.cpu), parts.gpus) > 1;
  if (is_one) return price;
  const auto cards = buy("gpu " + parts.parts.gpu, parts.gpus - 1);
  const Price one = of(counted_machine(machine).machine);
  if (!cards || !one.buy_usd) return price;
  price.buy_usd = *one.buy_usd + *cards;
  price.date = one.date;
  price.source = one.source;
  return price;
}

std::optional<double> PriceList::change(const CountedParts& from, const CountedParts& to) const {
  double sum = 0;
  const auto old_parts = parts_of(from);
  for (const auto& [part, count] : parts_of(to)) {
    std::int64_t more = count;
    for (const auto& [had, number] : old_parts) {
      if (had == part) more = std::max<std::int64_t>(0, count - number);
    }
    if (more == 0) continue;
    const auto cost = buy(part, more);
    if (!cost) return std::nullopt;
    sum += *cost;
  }
  return sum;
}

PriceList read_prices(const std::filesystem::path& file) {
  const std::string where = file.string();
  PriceList list;
  read_yaml(read_whole_file(file), where,
            [&](const YAML::Node& root) { list = price_list(root, where); });
  return list;
}

}  // namespace sluice::planner
