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
#include "planner/runs/data_entry.hpp"
#include "planner/runs/data_reading.hpp"
#include "planner/runs/refusal.hpp"
#include "planner/runs/schedule.hpp"
#include "planner/runs/tokenizer_claims.hpp"
#include "sim/units.hpp"

namespace YAML {
class Node;
}

namespace sluice::planner {

/// Integer type of token ids in a data file without a header.
enum class TokenType { uint16, uint32 };

/// How documents become sequences.
enum class Packing {
  automatic,  ///< `stream` for text, `off` for conversations ("auto").
  stream,     ///< Sequences are windows over all documents joined; attention crosses documents.
  documents,  ///< A sequence holds several whole documents; attention stays inside each.
  off,        ///< A sequence holds one document, padded.
};

/// Interval between evaluations or saves that is stated as a share of the run or of a pass over the
/// data, not in steps; settle_cadences() converts it once the run's length is known.
struct Cadence {
  /// What `amount` is a share of: the run's steps, or the steps of a pass over the data.
  enum class Of { run, pass };
  double amount = 0;
  Of of = Of::run;
  friend bool operator==(const Cadence&, const Cadence&) = default;
};

/// NAME of `set machine.NAME = FILE` for a file, written by `sluice fit`, whose kernel model times
/// the machine's products and attention.
inline constexpr const char* kKernelsFile = "kernels";

/// Everything that RUN.yaml states, with defaults filled in. Paths are relative to the working
/// folder.
struct RunConfig {
  std::string model;  ///< The model as given: anything that find_model accepts.
  /// Folder that is read in place of `model`: a checkpoint of a run that goes on, or whose weights
  /// are used, with the config.json that the run trained with. None for what `model` leads to. It
  /// is no part of RUN.yaml.
  std::optional<std::filesystem::path> kept_model;
  std::vector<DataEntry> data;         ///< The data sets to train on; training needs one.
  Mixture mixture = Mixture::weights;  ///< What a pass over several data sets is.
  std::optional<std::filesystem::path> dataset_dir;  ///< Folder of dataset_info.json and its files.
  DataFormat data_format = DataFormat::automatic;
  /// File that says which token ids are learnt, one 0 or 1 for each id; none for the file that lies
  /// beside the token ids, if there is one.
  std::optional<std::filesystem::path> data_mask;
  TokenType data_dtype = TokenType::uint16;  ///< Type of the token ids in a .bin file.
  /// Largest number of rows that are read of each data set; none for all. An entry's own number
  /// holds over it.
  std::optional<std::int64_t> max_samples;
  /// Names that data files give to fields, by what the field holds (data_columns); an entry's own
  /// names hold over them.
  std::map<std::string, std::string> columns;
  /// Whether rows of the data that would be left out are listed and the run refused, instead.
  bool strict = false;
  /// Name of the chat template ("template"); none for the one in the model's folder.
  std::optional<std::string> chat_template;
  /// The date that the chat template writes, such as "26 Jul 2024"; none for the template's own
  /// fallback.
  std::optional<std::string> date_string;
  /// How the data become tokens; none for the present reading, which a run's first start records.
  std::optional<DataReading> data_reading;
  Packing packing = Packing::automatic;
  std::int64_t seq_len = 0;     ///< Tokens of a sequence; 0 where not given, which to_job refuses.
  std::int64_t batch_size = 0;  ///< Sequences of a step; 0 where not given, which to_job refuses.
  std::int64_t micro_batch = 1;
  /// Groups of micro-batches (Job::groups); none for as many as `devices` ("auto").
  std::optional<std::int64_t> groups;
  /// Number of devices of one host that share each step; the plan has as many ranks. A plan file's
  /// number holds where this one is not stated.
  std::int64_t devices = 1;
  std::int64_t loss_chunk = 1024;
  std::int64_t mlp_chunk = kMlpChunk;
  /// Coefficient of the loss that balances the load of experts; none for no such loss.
  std::optional<double> router_aux_loss_coef;
  std::int64_t steps = 100;
  /// Number of passes over the training data, in place of `steps`; converted to steps once the data
  /// are known.
  std::optional<double> epochs;
  /// Number of micro-batches of a step, in place of batch_size; settle() converts it.
  std::optional<std::int64_t> gradient_accumulation;
  std::int64_t seed = 1;
  ComputeType compute = ComputeType::bf16;
  GradientWire gradient_wire = GradientWire::fp32;
  AdamWSettings optimizer;
  Schedule schedule;
  std::string machine = "here";  ///< The machine as given: anything that find_machine accepts.
  Limits limits;
  Residency residency = Residency::automatic;
  /// A plan file whose plan, with the run's pins, is taken instead of a search; none for a search.
  std::optional<std::filesystem::path> plan;
  std::optional<std::filesystem::path> out;  ///< Folder that the run writes to.
  /// Absolute path of the folder in which the run was started, which its relative paths belong to;
  /// none for the working folder.
  std::optional<std::filesystem::path> working_folder;
  /// Folder for the state, gradients and weights that a plan keeps on the disk; none for the run's
  /// own folder.
  std::optional<std::filesystem::path> disk_path;
  /// Steps from one checkpoint to the next; 0 for the one at the end alone.
  std::int64_t save_every = 0;
  std::optional<std::int64_t> keep_last;  ///< Number of newest checkpoints that stay; none for all.
  /// Whether the checkpoint with the lowest validation loss stays beside those of keep_last.
  bool keep_best = false;
  /// Steps from one evaluation to the next; none for four evaluations in the run, 0 for its start
  /// and end alone.
  std::optional<std::int64_t> evaluate_every;
  /// save_every and evaluate_every where they were stated as shares; none where in steps.
  std::optional<Cadence> save_cadence, evaluate_cadence;
  /// Number of threads of the CPU optimizer, which any plan of the run then has; none where the
  /// plan chooses.
  std::optional<std::int64_t> threads;
  /// What executes the run: the host or a CUDA device; none for what the machine's profile says.
  std::optional<DeviceKind> backend;
  /// Values of `set machine.NAME = VALUE` by NAME: a quantity ("12 GB/s") or a factor ("0.5x").
  /// `kKernelsFile` names a kernel model's file instead.
  std::map<std::string, std::string> machine_overrides;
  /// Values of `set plan.NAME = VALUE` by NAME: plan fields that the search must keep
  /// (apply_plan_overrides).
  std::map<std::string, std::string> plan_overrides;
  /// Name or file of the policy whose plan is taken instead of a search
  /// (planner/policies/policy.hpp); none for a search.
  std::optional<std::string> policy;
  /// Values of `set policy.KEY = VALUE` by KEY: settings of the policy.
  std::map<std::string, std::string> policy_overrides;
  /// Terms of the model of time that are on; `set term.NAME = off` turns one off.
  CostSwitches terms;
  /// Other programs' keys for training adapters or parts of a model, with their values, by name;
  /// empty values switch them off (adapter_keys.hpp).
  std::map<std::string, std::string> adapter;
  /// What a file of another program says of the tokenizer, which is compared with the model's.
  TokenizerClaims tokenizer_claims;
  /// Messages on keys of the run that were accepted and have no effect, and on defaults that were
  /// set.
  std::vector<std::string> notes;
  std::set<std::string> stated;  ///< Paths that a file or the command line set, whatever the value.
};

/// Sets the interval between saves (`path` "save_every") or evaluations ("evaluate_every") to a
/// share.
void set_cadence(RunConfig& config, const std::string& path, const Cadence& cadence);
/// Converts save_cadence and evaluate_cadence to steps, rounded up as transformers does, for a run
/// of config.steps steps whose passes over the data take `pass_steps` steps, which need not be
/// whole.
void settle_cadences(RunConfig& config, double pass_steps);

/// Sets batch_size from gradient_accumulation, where that is given. Throws BadRequest where both
/// are given and contradict each other.
void settle(RunConfig& config);

/// Parses RUN.yaml text, also as other programs have it (foreign_keys.hpp). Throws BadRequest with
/// `where`, the line and the nearest known key, or BadRequests with one for every key that is
/// refused.
[[nodiscard]] RunConfig run_from_yaml(const std::string& text, const std::string& where);
/// Parses a run from a map within a larger YAML document. Errors name the document's lines.
[[nodiscard]] RunConfig run_from_yaml(const YAML::Node& map, const std::string& where);
[[nodiscard]] RunConfig read_run(const std::filesystem::path& file);
/// Reads a run's file and adds what is refused in it to `refusals`. Keys for adapters are not
/// refused here (adapter_refusal).
[[nodiscard]] RunConfig read_run(const std::filesystem::path& file, std::vector<Refusal>& refusals);

/// Sets one dotted path: "optimizer.lr", "limits.hbm", "machine.h2d", "plan.weight_buffers",
/// "term.contention"; a leading "job." is accepted. Throws BadRequest naming the path and the
/// nearest known one.
void set_path(RunConfig& config, const std::string& path, const std::string& value);

/// RUN.yaml text that parses to an equal config; all defaults are written out.
[[nodiscard]] std::string to_yaml(const RunConfig& config);

const char* to_string(TokenType type);
/// The data sets of a run with the run's max_samples, columns and data_format filled in where an
/// entry states none. Throws BadRequest where their weights or shares contradict the run's mixture.
[[nodiscard]] std::vector<DataEntry> data_sets(const RunConfig& config);

const char* to_string(Packing packing);

}  // namespace sluice::planner
