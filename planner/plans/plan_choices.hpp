// Parsers for the choices of a plan by their names in files.
#pragma once

#include <string>

#include "planner/files/choice.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// The tier called `text` in files. Throws BadRequest that begins with `where` for other texts, as
/// all parsers of this header do.
[[nodiscard]] inline Tier parse_tier(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Tier::hbm, Tier::host, Tier::disk});
}
/// What a plan that can be executed may keep of a block, by its name in files.
[[nodiscard]] inline Keep parse_keep(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Keep::input, Keep::selective, Keep::all});
}
/// How much of a record Plan::saved_records may store, by its name in files.
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
[[nodiscard]] inline Staging parse_staging(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Staging::whole, Staging::ring});
}
[[nodiscard]] inline Extent parse_extent(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Extent::whole, Extent::slice});
}
[[nodiscard]] inline Gather parse_gather(const std::string& text, const std::string& where) {
  return parse_choice(text, where, {Gather::fabric, Gather::host});
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
