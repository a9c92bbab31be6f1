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

const char* to_string(DataFormat format) {
  switch (format) {
    case DataFormat::automatic:
      return "auto";
    case DataFormat::text:
      return "text";
    case DataFormat::bytes:
      return "bytes";
    case DataFormat::jsonl:
      return "jsonl";
    case DataFormat::alpaca:
      return "alpaca";
    case DataFormat::sharegpt:
      return "sharegpt";
    case DataFormat::messages:
      return "messages";
  }
  return "";
}

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
