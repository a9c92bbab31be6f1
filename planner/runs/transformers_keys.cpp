// Keys of transformers' TrainingArguments (versions 4 and 5), which the other programs take over.
#include <array>

#include "planner/runs/foreign_key.hpp"
#include "planner/runs/foreign_rules.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

constexpr const char* kBestLoss = "the best checkpoint is that of the lowest validation loss";
constexpr const char* kEveryRun = "every run is repeatable bit for bit";
constexpr const char* kOrder = "sequences are in the seed's order";
constexpr const char* kEvaluation = "every evaluation is the mean loss of the validation windows";
constexpr const char* kWholeCheckpoint = "a checkpoint holds all that a run needs to go on";
constexpr const char* kBackend = "write backend: host";

double beta_of(Text value, Text key) {
  const double beta = parse_number(value, key);
  if (beta < 0 || beta >= 1) throw BadRequest(key + ": must be at least 0 and less than 1");
  return beta;
}

void set_beta1(RunConfig& run, Text value, Text key) {
  if (!is_none(value)) run.optimizer.beta1 = beta_of(value, key);
}

void set_beta2(RunConfig& run, Text value, Text key) {
  if (!is_none(value)) run.optimizer.beta2 = beta_of(value, key);
}

/// Sets the largest gradient norm; transformers reads 0 as no clipping.
void set_clip_norm(RunConfig& run, Text value, Text key) {
  const bool off = says_off(value) || parse_number(value, key) == 0;
  set_path(run, "optimizer.clip", off ? "off" : value);
}

/// A key without a value leaves the default of what it is another name of.
template <const char* path>
void set_unless_none(RunConfig& run, Text value, Text) {
  if (!is_none(value)) set_path(run, path, value);
}
constexpr char kRate[] = "optimizer.lr";
constexpr char kDecay[] = "optimizer.weight_decay";
constexpr char kEps[] = "optimizer.eps";
constexpr char kAccumulation[] = "gradient_accumulation";
constexpr char kWarmupShare[] = "schedule.warmup_fraction";

constexpr std::array kTransformersKeys = {
    alias("num_train_epochs", "epochs"),
    alias("save_steps", "save_every"),
    alias("load_best_model_at_end", "keep_best"),
    alias("eval_steps", "evaluate_every"),
    alias("output_dir", "out"),
    rule("learning_rate", set_unless_none<kRate>),
    rule("weight_decay", set_unless_none<kDecay>),
    rule("adam_epsilon", set_unless_none<kEps>),
    rule("gradient_accumulation_steps", set_unless_none<kAccumulation>),
    rule("warmup_ratio", set_unless_none<kWarmupShare>),
    rule("warmup_steps", set_warmup),
    rule("per_device_train_batch_size", set_per_device),
    rule("per_gpu_train_batch_size", set_per_device),
    rule("max_steps", set_max_steps),
    rule("lr_scheduler_type", set_scheduler),
    rule("lr_scheduler_kwargs", set_scheduler_settings),
    rule("max_grad_norm", set_clip_norm),
    rule("adam_beta1", set_beta1),
    rule("adam_beta2", set_beta2),
    rule("bf16", set_bf16),
    rule("optim", set_optimizer),
    rule("save_strategy", set_save_strategy),
    rule("save_total_limit", set_total_limit),
    rule("eval_strategy", set_eval_strategy),
    rule("evaluation_strategy", set_eval_strategy),

    moot("accelerator_config", kOneGpu),
    moot("activation_checkpointing*", kPlanned),
    moot("auto_find_batch_size", kPlanned),
    moot("average_tokens_across_devices", kOneGpu),
    moot("batch_eval_metrics", kEvaluation),
    moot("bf16_full_eval", kEvaluation),
    moot("data_seed", "seed sets weights and data order"),
    moot("dataloader_*", kNoLoader),
    moot("ddp_*", kOneGpu),
    moot("debug", kLogged),
    moot("deepspeed", kOneGpu),
    moot("disable_tqdm", kLogged),
    moot("do_eval", "every run evaluates"),
    moot("do_train", "`sluice train` implies it"),
    moot("enable_jit_checkpoint", kWholeCheckpoint),
    moot("eval_accumulation_steps", kEvaluation),
    moot("eval_delay", kEvaluation),
    moot("eval_do_concat_batches", kEvaluation),
    moot("eval_on_start", "every run evaluates at its start"),
    moot("eval_use_gather_object", kOneGpu),
    moot("fp16_backend", "compute is bf16 or fp32"),
    moot("fp16_full_eval", kEvaluation),
    moot("fp16_opt_level", "compute is bf16 or fp32"),
    moot("fsdp*", kOneGpu),
    moot("full_determinism", kEveryRun),
    moot("gradient_checkpointing*", kPlanned),
    moot("greater_is_better", kBestLoss),
    moot("group_by_length", kOrder),
    moot("half_precision_backend", "compute is bf16 or fp32"),
    moot("hub_*", kNoUpload),
    moot("ignore_data_skip", "a resumed run goes on where it was"),
    moot("include_for_metrics", kEvaluation),
    moot("include_inputs_for_metrics", kEvaluation),
    moot("include_num_input_tokens_seen", "every line of metrics.jsonl has its tokens"),
    moot("include_tokens_per_second", "every line of metrics.jsonl has its tokens"),
    moot("jit_mode_eval", kPlanned),
    moot("label_names", kEvaluation),
    moot("length_column_name", kOrder),
    moot("liger_kernel_config", kPlanned),
    moot("local_rank", kOneGpu),
    moot("log_level*", kLogged),
    moot("log_on_each_node", kLogged),
    moot("logging_dir", "TensorBoard's files are in the run folder"),
    moot("logging_steps", "every step is logged"),
    moot("logging_*", kLogged),
    moot("metric_for_best_model", kBestLoss),
    moot("mp_parameters", kOneGpu),
    moot("overwrite_output_dir", "a folder that holds a run is never written over"),
    moot("parallelism_config", kOneGpu),
    moot("past_index", kPlanned),
    moot("per_device_eval_batch_size", kPlanned),
    moot("per_gpu_eval_batch_size", kPlanned),
    moot("prediction_loss_only", kEvaluation),
    moot("project", kLogged),
    moot("push_to_hub*", kNoUpload),
    moot("ray_*", kOneGpu),
    moot("remove_unused_columns", "fields that nothing reads stay unread"),
    moot("report_to", kLogged),
    moot("restore_callback_states_from_checkpoint", kWholeCheckpoint),
    moot("run_name", "out names the run folder"),
    moot("save_on_each_node", kOneGpu),
    moot("save_only_model", kWholeCheckpoint),
    moot("save_safetensors", "checkpoints are safetensors"),
    moot("skip_memory_metrics", kLogged),
    moot("tf32", "compute chooses between bf16 and fp32"),
    moot("torch_compile*", kPlanned),
    moot("torch_empty_cache_steps", kPlanned),
    moot("torchdynamo", kPlanned),
    moot("tp_size", kOneGpu),
    moot("trackio_*", kLogged),
    moot("train_sampling_strategy", kOrder),
    moot("use_cache", kPlanned),
    moot("use_legacy_prediction_loop", kEvaluation),
    moot("use_liger_kernel", kPlanned),

    refused("adafactor", kAdamW),
    refused("do_predict", kGenerates),
    refused("fp16", "write bf16: true, or compute: bf16"),
    refused("label_smoothing_factor", "the loss is cross-entropy"),
    refused("neftune_noise_alpha", "embeddings get no noise: leave it out"),
    refused("no_cuda", kBackend),
    refused("optim_args", "write optimizer: {betas, eps, weight_decay}"),
    refused("optim_target_modules", kAllWeights),
    refused("resume_from_checkpoint", "give --resume"),
    refused("use_cpu", kBackend),
    refused("use_ipex", kBackend),
    refused("use_mps_device", "a GPU of NVIDIA or the CPU computes"),
};

}  // namespace

std::span<const ForeignKey> transformers_keys() { return kTransformersKeys; }

}  // namespace sluice::planner
