#include "planner/runs/run_config.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

std::int64_t steps_of(const Cadence& cadence, std::int64_t steps, double pass_steps) {
  const double whole = cadence.of == Cadence::Of::run ? static_cast<double>(steps) : pass_steps;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(cadence.amount * whole)));
}

void require_mixture(const RunConfig& config) {
  require_weights(config.data, "data");
  for (const DataEntry& each : config.data) {
    if (each.share && config.mixture == Mixture::weights) {
      throw BadRequest("data: " + each.name.string() +
                       " has a share: say how long a pass over the mixture is by mixture: "
                       "first_exhausted or all_exhausted, or give weights");
    }
    if (each.weight && config.mixture != Mixture::weights) {
      throw BadRequest("mixture: " + std::string(to_string(config.mixture)) +
                       " draws from data sets by their shares, and " + each.name.string() +
                       " has a weight: give shares, or leave mixture out");
    }
  }
}

}  // namespace

void set_cadence(RunConfig& config, const std::string& path, const Cadence& cadence) {
  if (path == "save_every") {
    config.save_every = 0;
    config.save_cadence = cadence;
  } else {
    config.evaluate_every.reset();
    config.evaluate_cadence = cadence;
  }
  config.stated.insert(path);
}

void settle_cadences(RunConfig& config, double pass_steps) {
  if (config.save_cadence) {
    config.save_every = steps_of(*config.save_cadence, config.steps, pass_steps);
  }
  if (config.evaluate_cadence) {
    config.evaluate_every = steps_of(*config.evaluate_cadence, config.steps, pass_steps);
  }
  config.save_cadence.reset();
  config.evaluate_cadence.reset();
}

void settle(RunConfig& config) {
  if (!config.gradient_accumulation) return;
  const std::int64_t sequences = *config.gradient_accumulation * config.micro_batch;
  // A batch for each device (set_per_device) is no statement about a step's size.
  const bool stated = config.stated.contains("gradient_accumulation");
  if (config.batch_size != 0 && !stated) {
    config.gradient_accumulation.reset();
    return;
  }
  if (config.batch_size != 0 && config.batch_size != sequences) {
    throw BadRequest("gradient_accumulation: " + std::to_string(*config.gradient_accumulation) +
                     " x micro_batch " + std::to_string(config.micro_batch) +
                     " is not batch_size (" + std::to_string(config.batch_size) +
                     "): give one of the two");
  }
  config.batch_size = sequences;
  config.gradient_accumulation.reset();
}

std::vector<DataEntry> data_sets(const RunConfig& config) {
  require_mixture(config);
  std::vector<DataEntry> sets = config.data;
  for (DataEntry& each : sets) {
    if (!each.max_samples && !each.max_percent) each.max_samples = config.max_samples;
    if (!each.format && config.data_format != DataFormat::automatic) {
      each.format = config.data_format;
    }
    each.columns.insert(config.columns.begin(), config.columns.end());  // Keeps its own.
  }
  return sets;
}

const char* to_string(TokenType type) { return type == TokenType::uint16 ? "uint16" : "uint32"; }

const char* to_string(Packing packing) {
  switch (packing) {
    case Packing::automatic:
      return "auto";
    case Packing::stream:
      return "stream";
    case Packing::documents:
      return "documents";
    case Packing::off:
      return "off";
  }
  return "";
}

}  // namespace sluice::planner
