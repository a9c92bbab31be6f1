#include <charconv>
#include <cmath>
#include <vector>

#include "sim/error.hpp"
#include "sim/graph_file.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::sim {
namespace {

[[noreturn]] void refuse(std::string_view assignment, const std::string& reason) {
  throw BadRequest("--set " + std::string(assignment) + ": " + reason);
}

/// A new capacity, or a factor for the old one.
struct Setting {
  double number;
  bool scales;
  [[nodiscard]] double applied_to(double capacity) const {
    return scales ? capacity * number : number;
  }
};

Setting parse_setting(std::string_view assignment, std::string_view text) {
  const bool scales = !text.empty() && (text.back() == 'x' || text.back() == 'X');
  if (scales) text.remove_suffix(1);
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) {
    refuse(assignment, "the value must be a number such as 80e9 or a factor such as 0.5x");
  }
  if (number <= 0) refuse(assignment, "the value must be above 0");
  return {number, scales};
}

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

std::string unknown(const char* noun, std::string_view name,
                    const std::vector<std::string>& known) {
  return std::string("unknown ") + noun + " \"" + std::string(name) + "\"" +
         (known.empty() ? "; the graph has none" : did_you_mean(name, known));
}

void apply_one(TaskGraph& graph, std::string_view assignment) {
  const std::size_t dot = assignment.find('.');
  const std::size_t equals = assignment.rfind('=');
  if (dot == std::string_view::npos || equals == std::string_view::npos || equals < dot) {
    refuse(assignment, "write links.NAME=VALUE or pools.NAME=VALUE, VALUE as in 80e9 or 0.5x");
  }
  const std::string_view kind = assignment.substr(0, dot);
  const std::string_view name = assignment.substr(dot + 1, equals - dot - 1);
  const Setting setting = parse_setting(assignment, assignment.substr(equals + 1));
  if (kind == "links") {
    const auto link = graph.find_link(name);
    if (!link) refuse(assignment, unknown("link", name, names_of(graph.links())));
    graph.set_capacity(*link,
                       Rate(setting.applied_to(graph.links()[index(*link)].capacity.count())));
  } else if (kind == "pools") {
    const auto pool = graph.find_pool(name);
    if (!pool) refuse(assignment, unknown("pool", name, names_of(graph.pools())));
    graph.set_capacity(*pool,
                       Amount(setting.applied_to(graph.pools()[index(*pool)].capacity.count())));
  } else {
    refuse(assignment, unknown("path", kind, {"links", "pools"}));
  }
}

}  // namespace

void apply_override(TaskGraph& graph, std::string_view assignment) {
  while (true) {
    // A comma ends an override only if another one begins after it, because names may contain
    // commas.
    std::size_t comma = assignment.find(',');
    while (comma != std::string_view::npos && assignment.substr(comma + 1, 6) != "links." &&
           assignment.substr(comma + 1, 6) != "pools.") {
      comma = assignment.find(',', comma + 1);
    }
    apply_one(graph, assignment.substr(0, comma));
    if (comma == std::string_view::npos) return;
    assignment.remove_prefix(comma + 1);
  }
}

}  // namespace sluice::sim
