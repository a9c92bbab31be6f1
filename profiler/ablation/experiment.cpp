#include "profiler/ablation/experiment.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "planner/files/choice.hpp"

namespace sluice::profiler {

std::string to_yaml(const Experiment& experiment) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  out << YAML::Key << "name" << YAML::Value << experiment.name;
  out << YAML::Key << "question" << YAML::Value << YAML::DoubleQuoted << experiment.question;
  out << YAML::Key << "design" << YAML::Value << to_string(experiment.design);
  out << YAML::Key << "on" << YAML::Value << to_string(experiment.on);
  out << YAML::Key << "effort" << YAML::Value << fmt::format("{}", experiment.effort);
  out << YAML::Key << "seed" << YAML::Value << experiment.seed;
  out << YAML::Key << "repeats" << YAML::Value << experiment.repeats;
  out << YAML::Key << "steps" << YAML::Value << experiment.steps;
  out << YAML::Key << "warm_up" << YAML::Value << experiment.warm_up;
  out << YAML::Key << "factors" << YAML::Value << YAML::BeginMap;
  for (const Factor& factor : experiment.factors) {
    out << YAML::Key << factor.name << YAML::Value << YAML::BeginMap << YAML::Key << "levels";
    out << YAML::Value << YAML::BeginMap;
    for (const Level& level : factor.levels) {
      out << YAML::Key << YAML::DoubleQuoted << level.name << YAML::Value << YAML::BeginMap;
      for (const Setting& setting : level.settings) {
        out << YAML::Key << setting.path << YAML::Value << YAML::DoubleQuoted << setting.value;
      }
      out << YAML::EndMap;
    }
    out << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndMap;
  out << YAML::Key << "baseline" << YAML::Value
      << YAML::Load(planner::to_yaml(experiment.baseline));
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

const char* to_string(Design design) {
  switch (design) {
    case Design::full:
      return "full";
    case Design::one_at_a_time:
      return "one-at-a-time";
    case Design::paired:
      break;
  }
  return "paired";
}

const char* to_string(Ground ground) { return ground == Ground::device ? "device" : "simulation"; }

Ground parse_ground(const std::string& text, const std::string& where) {
  if (text == "both") return Ground::device;  // Cells on a device are predicted too.
  return planner::parse_choice(text, where, {Ground::simulation, Ground::device});
}

}  // namespace sluice::profiler
