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
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace YAML {
class Node;
}

namespace sluice::planner {

/// Learning rate over a run: linear warm-up from lr / warmup_steps, then constant, or down to
/// `final_fraction` of lr at the last step along a line or half a cosine; `wsd` (warm-up, stable,
/// decay: arXiv 2404.06395) goes down in its last steps only.
struct Schedule {
  enum class Kind { constant, linear, cosine, wsd } kind = Kind::constant;
  enum class Shape {
    linear,
    cosine,
    sqrt,  ///< 1 - sqrt(share of the decay that is done): arXiv 2405.18392.
  };
  std::int64_t warmup_steps = 0;
  double final_fraction = 0;
  double warmup_fraction = 0;    ///< Of the run's steps, rounded up, where warmup_steps is 0.
  std::int64_t decay_steps = 0;  ///< Of wsd; 0: decay_fraction of the run's steps, rounded up.
  double decay_fraction = 0.1;
  Shape decay_shape = Shape::linear;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// lr of `step`, counted from 1, of a run of `steps`.
[[nodiscard]] double learning_rate(const Schedule& schedule, double lr, std::int64_t step,
                                   std::int64_t steps);

/// Bytes a run may use; none leaves what the machine has.
struct Limits {
  std::optional<Bytes> hbm, host, disk;
  /// Host memory that the system lets be pinned; none: all of it.
  std::optional<Bytes> pinned;
  /// Copies each way are held to this rate: the link of a smaller machine on a larger one.
  std::optional<BytesPerSecond> link;
  friend bool operator==(const Limits&, const Limits&) = default;
};

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

enum class Residency {
  automatic,  ///< The planner chooses ("auto").
  host,       ///< Master weights, m and v stay out of HBM.
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

/// The job of a run: finds the model, checks the sizes. Throws BadRequest.
[[nodiscard]] Job to_job(const RunConfig& config);

/// The machine of a run, with `set machine.` values and limits applied.
struct ResolvedMachine {
  MachineProfile profile;        ///< With the overrides; its hash is the profile_hash of outputs.
  std::string calibration_hash;  ///< Hash before overrides: what calibration samples are keyed by.
  Bytes hbm, host, disk;         ///< Capacities: limits, else the profile's.
  /// Less host memory can be pinned than may be used: copies go through a pinned ring, and the
  /// profile's link rates are those of the ring.
  bool staged = false;
  /// limits.link where it is below the machine's own rates: a backend paces its copies.
  std::optional<BytesPerSecond> paced{};
  /// limits.disk is stated: the planner may keep state on the disk where host memory is short.
  bool state_on_disk = false;
  /// Folder for it; none: where the run keeps its other files.
  std::optional<std::filesystem::path> disk_path{};
};
[[nodiscard]] ResolvedMachine to_machine(const RunConfig& config);

/// Writes the pinned fields (plan_overrides and threads) into `plan`, and moves what depends on
/// them and is not pinned itself: the other of rounds and micro_batches_per_round, prefetch_depth
/// when weight_buffers shrinks. The result is for validate to judge. Names: weight_buffers,
/// gradient_buffers, activation_buffers, prefetch_depth, rounds, micro_batches_per_round,
/// copy_chunk ("4 MiB", "0" for whole tensors), threads, and weights, gradients, state, keep,
/// keep_tier, executor, when for every layer, or layers[i].FIELD for one (0 is embed).
void apply_plan_overrides(Plan& plan, const Job& job, const RunConfig& config);

const char* to_string(Schedule::Kind kind);
const char* to_string(Schedule::Shape shape);
const char* to_string(Residency residency);
const char* to_string(DataFormat format);
const char* to_string(Packing packing);

}  // namespace sluice::planner
