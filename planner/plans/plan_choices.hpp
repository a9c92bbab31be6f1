// Parsers for the choices of a plan by their names in files.
#pragma once

#include <string>

#include "planner/files/choice.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner {

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
[[nodiscard]] inline HostPass::Moment parse_moment(const std::string& text,
                                                   const std::string& where) {
  return parse_choice(text, where,
                      {HostPass::Moment::before_update, HostPass::Moment::after_update});
}
[[nodiscard]] inline HostPass::Over parse_over(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {HostPass::Over::all, HostPass::Over::ends});
}
[[nodiscard]] inline HostPass::Threads parse_pass_threads(const std::string& text,
                                                          const std::string& where) {
  return parse_choice(text, where, {HostPass::Threads::one, HostPass::Threads::all});
}

}  // namespace sluice::planner
