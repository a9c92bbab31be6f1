// Keys of torchtune's recipes (0.2 to 0.6), each with what to write instead: its files name Python
// objects (_component_), which a run has no use for.
#include <array>

#include "planner/runs/foreign_key.hpp"
#include "planner/runs/foreign_rules.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

void set_component(RunConfig& run, Text value, Text key) {
  if (value.ends_with("AdamW") || value.ends_with("AdamW8bit"))
    return set_optimizer(run, value, key);
  throw BadRequest(key + ": \"" + value + "\" is not done here: the optimizer is AdamW");
}

constexpr std::array kTorchtuneKeys = {
    alias("clip_grad_norm", "optimizer.clip"),
    rule("dtype", set_type),
    rule("optimizer._component_", set_component),

    moot("compile", kPlanned),
    moot("custom_sharded_layers", kOneGpu),
    moot("enable_activation_checkpointing", kPlanned),
    moot("enable_activation_offloading", kPlanned),
    moot("log_every_n_steps", "every step is logged"),
    moot("log_peak_memory_stats", kLogged),
    moot("metric_logger", kLogged),
    moot("optimizer.foreach", kPlanned),
    moot("optimizer.fused", kPlanned),
    moot("optimizer_in_bwd", kPlanned),
    moot("profiler", "give --trace-out"),
    moot("shuffle", "sequences are in the seed's order"),
    moot("_component_", "no Python code is run"),

    refused("checkpointer", "write model: the folder with config.json and weights, and out: DIR"),
    refused("loss", "the loss is cross-entropy: leave it out"),
    refused("max_steps_per_epoch", "write steps: N"),
    refused("tokenizer",
            "the tokenizer of the model's folder is read: leave it out, and write seq_len: "
            "max_seq_len"),
};

}  // namespace

std::span<const ForeignKey> torchtune_keys() { return kTorchtuneKeys; }

}  // namespace sluice::planner
