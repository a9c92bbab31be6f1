#include "planner/runs/run_config.hpp"

#include "sim/error.hpp"

namespace sluice::planner {
void settle(RunConfig& config) {
  if (!config.gradient_accumulation) return;
  const std::int64_t sequences = *config.gradient_accumulation * config.micro_batch;
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
  std::vector<DataEntry> sets = config.data;
  for (DataEntry& each : sets) {
    if (!each.max_samples) each.max_samples = config.max_samples;
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
