// A run as its owner states it: RUN.yaml with overrides, or the flags that stand for one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planner/costs/cost_switches.hpp"
#include "planner/machines/machine.hpp"
#include "planner/machines/resolved_machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "planner/plans/residency.hpp"
#include "planner/runs/schedule.hpp"
#include "sim/units.hpp"

namespace YAML {
class Node;
}

namespace sluice::planner {

/// What a line of the data is.
enum class DataFormat {
  automatic,  ///< As the file's name and first record say ("auto").
  text,       ///< The whole file is one text.
  jsonl,      ///< {"text": ...} a record.
  alpaca,     ///< {"instruction", "input", "output", "system", "history"} a record.
  sharegpt,   ///< {"conversations": [{"from", "value"}, ...]} a record.
  messages,   ///< {"messages": [{"role", "content"}, ...]} a record.
};

/// How documents become sequences.
enum class Packing {
  automatic,  ///< stream for text, off for conversations ("auto").
  stream,     ///< Windows of all documents one behind the other; attention crosses documents.
  documents,  ///< Several whole documents a sequence; attention stays inside each.
  off,        ///< One document a sequence, padded.
};

/// Everything of RUN.yaml, defaults filled in. Paths are relative to the working folder.
struct RunConfig {
  std::string model;  ///< As given: what find_model accepts.
  /// A file, or a name in a dataset_info.json; training needs it.
  std::optional<std::filesystem::path> data;
  std::optional<std::filesystem::path> dataset_dir;  ///< Where dataset_info.json and its files lie.
  DataFormat data_format = DataFormat::automatic;
  std::optional<std::string> chat_template;  ///< By name ("template"); none: the model folder's.
  /// What a chat template that writes a date writes ("26 Jul 2024"); none: its own fallback.
  std::optional<std::string> date_string;
  Packing packing = Packing::automatic;
  std::int64_t seq_len = 0;     ///< Tokens of a sequence; 0 where not given, which to_job refuses.
  std::int64_t batch_size = 0;  ///< Sequences a step; likewise.
  std::int64_t micro_batch = 1;
  std::int64_t loss_chunk = 1024;
  std::int64_t mlp_chunk = kMlpChunk;
  /// Weight of the loss that balances experts; none: off.
  std::optional<double> router_aux_loss_coef;
  std::int64_t steps = 100;
  /// Passes over the training text, in place of `steps`; settled once the text is known.
  std::optional<double> epochs;
  /// Micro-batches a step, in place of batch_size (settle).
  std::optional<std::int64_t> gradient_accumulation;
  std::int64_t seed = 1;
  ComputeType compute = ComputeType::bf16;
  GradientWire gradient_wire = GradientWire::fp32;
  AdamWSettings optimizer;
  Schedule schedule;
  std::string machine = "here";  ///< As given: what find_machine accepts.
  Limits limits;
  Residency residency = Residency::automatic;
  std::optional<std::filesystem::path> plan;  ///< A plan file to use as it is.
  std::optional<std::filesystem::path> out;   ///< Run folder.
  /// Folder on the drive for what a plan keeps on the disk; none: the run folder.
  std::optional<std::filesystem::path> disk_path;
  std::int64_t save_every = 0;            ///< Steps between checkpoints; 0: one at the end.
  std::optional<std::int64_t> keep_last;  ///< Newest checkpoints that stay; none: all.
  bool keep_best = false;                 ///< The one of the lowest validation loss stays too.
  /// Steps between evaluations; none: four in the run; 0: at its start and end alone.
  std::optional<std::int64_t> evaluate_every;
  std::optional<std::int64_t> threads;  ///< Threads of the CPU optimizer.
  std::optional<DeviceKind> backend;
  /// `set machine.NAME = VALUE` by NAME: a quantity ("12 GB/s") or a factor ("0.5x").
  std::map<std::string, std::string> machine_overrides;
  /// `set plan.NAME = VALUE` by NAME: plan fields the search must keep (apply_plan_overrides).
  std::map<std::string, std::string> plan_overrides;
  std::optional<std::string>
      policy;  ///< A schedule rule instead of a search (planner/policies/policy.hpp).
  /// `set policy.KEY = VALUE` by KEY: settings of the policy.
  std::map<std::string, std::string> policy_overrides;
  CostSwitches terms;  ///< `set term.NAME = off` turns a term of the model of time off.
  /// What to say of keys that were accepted and change nothing here.
  std::vector<std::string> notes;
  std::set<std::string> stated;  ///< Paths that file or words set, whatever the value.
};

/// batch_size from gradient_accumulation, where that is given. Throws BadRequest where both are and
/// they contradict each other.
void settle(RunConfig& config);

/// The run of RUN.yaml text. Throws BadRequest with `where`, the line and the nearest known key.
[[nodiscard]] RunConfig run_from_yaml(const std::string& text, const std::string& where);
/// The same of a map within a larger document, whose lines it names.
[[nodiscard]] RunConfig run_from_yaml(const YAML::Node& map, const std::string& where);
[[nodiscard]] RunConfig read_run(const std::filesystem::path& file);

/// Sets one dotted path: "optimizer.lr", "limits.hbm", "machine.h2d", "plan.weight_buffers",
/// "term.contention"; a leading "job." is accepted. Throws BadRequest naming the path and the
/// nearest known one.
void set_path(RunConfig& config, const std::string& path, const std::string& value);

/// RUN.yaml text that reads back to an equal config; all defaults written out.
[[nodiscard]] std::string to_yaml(const RunConfig& config);

const char* to_string(DataFormat format);
const char* to_string(Packing packing);

}  // namespace sluice::planner
