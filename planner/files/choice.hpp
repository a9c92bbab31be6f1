// Enumerators by their names in files: one parser for all of them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {

const char* to_string(ComputeType type);
const char* to_string(GradientWire wire);

/// The one of `choices` whose to_string is `text`. Throws BadRequest `WHERE: "text" is not one of
/// ...; did you mean ...`.
template <class Enum>
[[nodiscard]] Enum parse_choice(const std::string& text, const std::string& where,
                                std::initializer_list<Enum> choices) {
  std::vector<std::string> names;
  std::string all;
  for (const Enum choice : choices) {
    if (text == to_string(choice)) return choice;
    names.emplace_back(to_string(choice));
    all.append(all.empty() ? "" : ", ").append(names.back());
  }
  throw BadRequest(where + ": \"" + text + "\" is not one of " + all +
                   sim::did_you_mean(text, names));
}

[[nodiscard]] inline Tier parse_tier(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Tier::hbm, Tier::host, Tier::disk});
}
[[nodiscard]] inline Keep parse_keep(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Keep::input, Keep::selective, Keep::all});
}
[[nodiscard]] inline Keep parse_record_level(const std::string& text, const std::string& where) {
  return parse_choice(text, where,
                      {Keep::input, Keep::selective, Keep::all, Keep::input_kv, Keep::attention});
}
[[nodiscard]] inline Executor parse_executor(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Executor::cpu, Executor::gpu});
}
[[nodiscard]] inline When parse_when(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {When::backward, When::forward, When::after});
}

}  // namespace sluice::planner
