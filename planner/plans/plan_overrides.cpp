#include "planner/plans/plan_overrides.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "planner/plans/plan_choices.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

struct PlanNumber {
  const char* name;
  std::int64_t Plan::*member;
};
constexpr std::array kNumbers = {
    PlanNumber{"weight_buffers", &Plan::weight_buffers},
    PlanNumber{"gradient_buffers", &Plan::gradient_buffers},
    PlanNumber{"activation_buffers", &Plan::activation_buffers},
    PlanNumber{"state_buffers", &Plan::state_buffers},
    PlanNumber{"stream_buffers", &Plan::stream_buffers},
    PlanNumber{"disk_buffers", &Plan::disk_buffers},
    PlanNumber{"prefetch_depth", &Plan::prefetch_depth},
    PlanNumber{"checkpoint_interval", &Plan::checkpoint_interval},
    PlanNumber{"rounds", &Plan::rounds},
    PlanNumber{"micro_batches_per_round", &Plan::micro_batches_per_round},
    PlanNumber{"receive_buffers", &Plan::receive_buffers},
    PlanNumber{"hosts", &Plan::hosts},
    PlanNumber{"threads", &Plan::threads},
};

struct UnitField {
  const char* name;
  void (*set)(UnitPlan&, const std::string& value, const std::string& where);
};
constexpr std::array kUnitFields = {
    UnitField{"weights", [](UnitPlan& unit, const std::string& value,
                            const std::string& where) { unit.weights = parse_tier(value, where); }},
    UnitField{"gradients",
              [](UnitPlan& unit, const std::string& value, const std::string& where) {
                unit.gradients = parse_tier(value, where);
              }},
    UnitField{"state", [](UnitPlan& unit, const std::string& value,
                          const std::string& where) { unit.state = parse_tier(value, where); }},
    UnitField{"keep", [](UnitPlan& unit, const std::string& value,
                         const std::string& where) { unit.keep = parse_keep(value, where); }},
    UnitField{"keep_tier",
              [](UnitPlan& unit, const std::string& value, const std::string& where) {
                unit.keep_tier = parse_tier(value, where);
              }},
    UnitField{"executor",
              [](UnitPlan& unit, const std::string& value, const std::string& where) {
                unit.executor = parse_executor(value, where);
              }},
    UnitField{"when", [](UnitPlan& unit, const std::string& value,
                         const std::string& where) { unit.when = parse_when(value, where); }},
    UnitField{"staging",
              [](UnitPlan& unit, const std::string& value, const std::string& where) {
                unit.staging = parse_staging(value, where);
              }},
};

[[noreturn]] void refuse_name(const std::string& name) {
  std::vector<std::string> known = {
      "copy_chunk",     "copy_chunk_bytes",     "disk_buffer", "disk_buffer_bytes",
      "exchange_piece", "exchange_piece_bytes", "gather"};
  for (const PlanNumber& number : kNumbers) known.emplace_back(number.name);
  for (const UnitField& field : kUnitFields) known.emplace_back(field.name);
  throw BadRequest("plan." + name + ": unknown field of a plan" + sim::did_you_mean(name, known));
}

[[noreturn]] void refuse_unit_field(const std::string& name, const std::string& field) {
  std::vector<std::string> known;
  known.reserve(std::size(kUnitFields));
  for (const UnitField& each : kUnitFields) known.emplace_back(each.name);
  throw BadRequest("plan." + name + ": unknown field of a layer" + sim::did_you_mean(field, known));
}

const UnitField* unit_field(const std::string& field) {
  const auto found = std::ranges::find_if(
      kUnitFields, [&field](const UnitField& known) { return field == known.name; });
  return found == kUnitFields.end() ? nullptr : &*found;
}

/// Unit and field of a name such as "layers[3].keep"; none for names without "layers[".
struct OneUnit {
  std::size_t unit;
  std::string field;
};
std::optional<OneUnit> one_unit(const std::string& name) {
  constexpr std::string_view kPrefix = "layers[";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto close = name.find("].");
  std::size_t unit = 0;
  const char* begin = name.data() + kPrefix.size();
  if (close == std::string::npos || close == kPrefix.size() ||
      std::from_chars(begin, name.data() + close, unit).ptr != name.data() + close) {
    throw BadRequest("plan." + name + ": must be written as plan.layers[3].keep");
  }
  return OneUnit{unit, name.substr(close + 2)};
}

bool is_keep(const std::string& field) { return field == "keep" || field == "keep_tier"; }

void set_units(Plan& plan, const std::string& name, const std::string& value) {
  const std::string where = "plan." + name;
  if (const auto one = one_unit(name)) {
    const UnitField* field = unit_field(one->field);
    if (field == nullptr) refuse_unit_field(name, one->field);
    if (one->unit >= plan.units.size()) {
      throw BadRequest(where + ": this model has layers[0] (embed) to layers[" +
                       std::to_string(plan.units.size() - 1) + "] (head)");
    }
    return field->set(plan.units[one->unit], value, where);
  }
  const UnitField* field = unit_field(name);
  if (field == nullptr) refuse_name(name);
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    const bool block = unit != 0 && unit + 1 != plan.units.size();
    if (block || !is_keep(name)) field->set(plan.units[unit], value, where);
  }
}

/// Sets one field of `plan`. If the plan has no units, values of unit fields are only parsed.
void set_field(Plan& plan, const std::string& name, const std::string& value) {
  const std::string where = "plan." + name;
  for (const PlanNumber& number : kNumbers) {
    if (name == number.name) {
      plan.*number.member = parse_count(value, where);
      return;
    }
  }
  if (name == "copy_chunk" || name == "copy_chunk_bytes") {
    plan.copy_chunk = parse_bytes(value, where);
    return;
  }
  if (name == "exchange_piece" || name == "exchange_piece_bytes") {
    plan.exchange_piece = parse_bytes(value, where);
    return;
  }
  if (name == "gather") {
    plan.gather = parse_gather(value, where);
    return;
  }
  if (name == "disk_buffer" || name == "disk_buffer_bytes") {
    plan.disk_buffer = parse_bytes(value, where);
    return;
  }
  set_units(plan, name, value);
}

}  // namespace

void check_plan_override(const std::string& name, const std::string& value) {
  Plan scratch;
  if (const auto one = one_unit(name)) {
    const UnitField* field = unit_field(one->field);
    if (field == nullptr) refuse_unit_field(name, one->field);
    UnitPlan unit;
    field->set(unit, value, "plan." + name);
    return;
  }
  scratch.units.resize(3);
  set_field(scratch, name, value);
}

void apply_plan_overrides(Plan& plan, const Job& job,
                          const std::map<std::string, std::string>& overrides,
                          std::optional<std::int64_t> threads) {
  const auto& pinned = overrides;
  if (threads) plan.threads = *threads;
  // Every layer first, single layers after it ("layers[...]" sorts before "weights").
  for (const bool single : {false, true}) {
    for (const auto& [name, value] : pinned) {
      if (name.starts_with("layers[") == single) set_field(plan, name, value);
    }
  }
  const std::int64_t micro_batches = job.micro_batches() / plan.ranks;
  if (pinned.contains("rounds") && !pinned.contains("micro_batches_per_round")) {
    if (plan.rounds >= 1) plan.micro_batches_per_round = micro_batches / plan.rounds;
  } else if (pinned.contains("micro_batches_per_round") && !pinned.contains("rounds")) {
    if (plan.micro_batches_per_round >= 1) {
      plan.rounds = micro_batches / plan.micro_batches_per_round;
    }
  }
  if (pinned.contains("prefetch_depth") && !pinned.contains("weight_buffers")) {
    plan.weight_buffers = std::max(plan.weight_buffers, plan.prefetch_depth + 1);
  }
  if (pinned.contains("weight_buffers") && !pinned.contains("prefetch_depth")) {
    plan.prefetch_depth = std::clamp<std::int64_t>(plan.weight_buffers - 1, 0, plan.prefetch_depth);
  }
}

}  // namespace sluice::planner
