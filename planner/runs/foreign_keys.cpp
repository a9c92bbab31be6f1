#include "planner/runs/foreign_keys.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "planner/runs/run_config.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

/// A key that is another name for one of our paths.
struct Alias {
  const char* key;
  const char* path;
};
constexpr std::array kAliases = {
    Alias{"model_name_or_path", "model"},
    Alias{"cutoff_len", "seq_len"},
    Alias{"gradient_accumulation_steps", "gradient_accumulation"},
    Alias{"moe_aux_loss_coef", "router_aux_loss_coef"},
    Alias{"learning_rate", "optimizer.lr"},
    Alias{"weight_decay", "optimizer.weight_decay"},
    Alias{"adam_epsilon", "optimizer.eps"},
    Alias{"warmup_steps", "schedule.warmup_steps"},
    Alias{"warmup_ratio", "schedule.warmup_fraction"},
    Alias{"num_train_epochs", "epochs"},
    Alias{"save_steps", "save_every"},
    Alias{"save_total_limit", "keep_last"},
    Alias{"load_best_model_at_end", "keep_best"},
    Alias{"eval_steps", "evaluate_every"},
    Alias{"output_dir", "out"},
};

/// A key that is accepted but changes nothing, and why.
struct Moot {
  const char* key;
  const char* note;
};
constexpr const char* kPlanned = "the plan chooses it";
constexpr const char* kOneGpu = "one GPU trains, and the plan offloads what does not fit it";
constexpr const char* kNoLoader = "the text is read as it is needed";
constexpr std::array kMoot = {
    Moot{"deepspeed", kOneGpu},
    Moot{"fsdp", kOneGpu},
    Moot{"ddp_timeout", kOneGpu},
    Moot{"gradient_checkpointing", kPlanned},
    Moot{"disable_gradient_checkpointing", kPlanned},
    Moot{"flash_attn", kPlanned},
    Moot{"enable_liger_kernel", kPlanned},
    Moot{"per_device_eval_batch_size", kPlanned},
    Moot{"dataloader_num_workers", kNoLoader},
    Moot{"preprocessing_num_workers", kNoLoader},
    Moot{"overwrite_cache", "tokens are cached by the hashes of text and tokenizer"},
    Moot{"overwrite_output_dir", "a folder that holds a run is never written over"},
    Moot{"logging_steps", "every step is logged"},
    Moot{"logging_dir", "TensorBoard's files are in the run folder"},
    Moot{"report_to", "metrics.jsonl and TensorBoard's files are always written"},
    Moot{"plot_loss", "report.html shows the loss"},
    Moot{"val_size", "the last twentieth of the text is validation"},
    Moot{"metric_for_best_model", "the best checkpoint is that of the lowest validation loss"},
    Moot{"greater_is_better", "the best checkpoint is that of the lowest validation loss"},
    Moot{"do_train", "`sluice train` implies it"},
    Moot{"do_eval", "every run evaluates"},
    Moot{"trust_remote_code", "no code of a model's folder is run"},
    Moot{"include_num_input_tokens_seen", "every line of metrics.jsonl has its tokens"},
    Moot{"tf32", "compute chooses between bf16 and fp32"},
    Moot{"data_seed", "seed sets weights and data order"},
};

/// A key that is refused unless it is switched off.
struct Refused {
  const char* key;
  const char* fix;
};
constexpr std::array kRefused = {
    Refused{"fp16", "compute is bf16 or fp32"},
    Refused{"pure_bf16", "the optimizer's state is fp32"},
    Refused{"quantization_bit", "all weights are trained at full precision"},
    Refused{"adapter_name_or_path", "merge the adapter into the model first"},
    Refused{"lora_rank", "all weights are trained"},
    Refused{"lora_alpha", "all weights are trained"},
    Refused{"lora_target", "all weights are trained"},
    Refused{"lora_dropout", "all weights are trained"},
    Refused{"freeze_trainable_layers", "all weights are trained"},
    Refused{"use_galore", "the optimizer is AdamW"},
    Refused{"use_badam", "the optimizer is AdamW"},
    Refused{"use_apollo", "the optimizer is AdamW"},
    Refused{"neftune_noise_alpha", "embeddings get no noise"},
    Refused{"label_smoothing_factor", "the loss is cross-entropy"},
    Refused{"lr_scheduler_kwargs", "write schedule.final_fraction, .decay_steps or .decay_shape"},
    Refused{"resume_from_checkpoint", "give --resume"},
    Refused{"save_only_model", "a checkpoint holds all that a run needs to go on"},
    Refused{"streaming", "the text is a file"},
    Refused{"train_on_prompt", "the loss is on the assistant's tokens of every turn"},
    Refused{"mask_history", "the loss is on the assistant's tokens of every turn"},
    Refused{"eval_dataset", "the last twentieth of the data is validation"},
    Refused{"group_by_length", "sequences are in the seed's order"},
    Refused{"resize_vocab", "the vocabulary is the model's"},
    Refused{"do_predict", "a run trains"},
};

bool is_off(Text value) {
  constexpr std::array kOff = {"", "null", "~", "false", "no", "none", "0", "0.0", "off"};
  return std::ranges::find(kOff, value) != kOff.end();
}

bool is_on(Text value, Text key) {
  if (value == "true" || value == "yes") return true;
  if (is_off(value)) return false;
  throw BadRequest(key + ": \"" + value + "\" must be true or false");
}

void set_dataset(RunConfig& run, Text value, Text key) {
  run.data = is_off(value) ? std::vector<DataEntry>{} : parse_data_names(value, key);
  run.stated.insert("data");
}

void set_per_device(RunConfig& run, Text value, Text) {
  set_path(run, "micro_batch", value);
  if (!run.gradient_accumulation && run.batch_size == 0) run.gradient_accumulation = 1;
}

/// Sets max_steps; -1 is how transformers states that epochs decide.
void set_max_steps(RunConfig& run, Text value, Text) {
  if (parse_number(value, "max_steps") > 0) set_path(run, "steps", value);
}

void set_scheduler(RunConfig& run, Text value, Text key) {
  struct Name {
    const char* theirs;
    const char* ours;
  };
  constexpr std::array kNames = {Name{"constant", "constant"}, Name{"linear", "linear"},
                                 Name{"constant_with_warmup", "constant"}, Name{"cosine", "cosine"},
                                 Name{"warmup_stable_decay", "wsd"}};
  for (const Name& name : kNames) {
    if (value == name.theirs) return set_path(run, "schedule.kind", name.ours);
  }
  throw BadRequest(key + ": \"" + value +
                   "\" is not one of constant, constant_with_warmup, linear, cosine, "
                   "warmup_stable_decay");
}

void set_clip_norm(RunConfig& run, Text value, Text) {
  set_path(run, "optimizer.clip", is_off(value) ? "off" : value);
}

void set_bf16(RunConfig& run, Text value, Text key) {
  set_path(run, "compute", is_on(value, key) ? "bf16" : "fp32");
}

double beta_of(Text value, Text key) {
  const double beta = parse_number(value, key);
  if (beta < 0 || beta >= 1) throw BadRequest(key + ": must be at least 0 and less than 1");
  return beta;
}

void require_one_of(Text value, Text key, std::initializer_list<const char*> known, Text why) {
  if (std::ranges::find(known, value) == known.end()) {
    throw BadRequest(key + ": \"" + value + "\" is not done here: " + why);
  }
}

void set_neat_packing(RunConfig& run, Text value, Text key) {
  if (is_on(value, key)) set_path(run, "packing", "documents");
}

void set_save_strategy(RunConfig& run, Text value, Text key) {
  require_one_of(value, key, {"steps", "no"}, "write save_every: N, in steps");
  if (value == "no") run.save_every = 0;
}

void set_eval_strategy(RunConfig& run, Text value, Text key) {
  require_one_of(value, key, {"steps", "no"}, "write evaluate_every: N, in steps");
  if (value == "no") run.evaluate_every = 0;
}

/// A key that needs more than another name.
struct Rule {
  const char* key;
  void (*set)(RunConfig&, Text value, Text key);
};
constexpr std::array kRules = {
    Rule{"dataset", set_dataset},
    Rule{"per_device_train_batch_size", set_per_device},
    Rule{"max_steps", set_max_steps},
    Rule{"lr_scheduler_type", set_scheduler},
    Rule{"max_grad_norm", set_clip_norm},
    Rule{"bf16", set_bf16},
    Rule{"neat_packing", set_neat_packing},
    Rule{"adam_beta1", [](RunConfig& run, Text v, Text k) { run.optimizer.beta1 = beta_of(v, k); }},
    Rule{"adam_beta2", [](RunConfig& run, Text v, Text k) { run.optimizer.beta2 = beta_of(v, k); }},
    Rule{"optim",
         [](RunConfig&, Text v, Text k) {
           require_one_of(v, k, {"adamw_torch", "adamw_torch_fused", "adamw_hf"},
                          "the optimizer is AdamW");
         }},
    Rule{"stage",
         [](RunConfig&, Text v, Text k) {
           require_one_of(v, k, {"pt", "sft"}, "pre-training and supervised fine-tuning are");
         }},
    Rule{"finetuning_type",
         [](RunConfig&, Text v, Text k) {
           require_one_of(v, k, {"full"}, "all weights are trained: write full");
         }},
    Rule{"save_strategy", set_save_strategy},
    Rule{"eval_strategy", set_eval_strategy},
    Rule{"evaluation_strategy", set_eval_strategy},
};

template <class Entry, std::size_t kSize>
const Entry* find_key(const std::array<Entry, kSize>& entries, Text key) {
  const auto found =
      std::ranges::find_if(entries, [&key](const Entry& entry) { return key == entry.key; });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace

bool set_foreign_key(RunConfig& config, const std::string& key, const std::string& value) {
  if (const Alias* alias = find_key(kAliases, key)) {
    set_path(config, alias->path, value);
  } else if (const Rule* rule = find_key(kRules, key)) {
    rule->set(config, value, key);
  } else if (const Moot* moot = find_key(kMoot, key)) {
    config.notes.push_back(key + " is ignored: " + moot->note);
  } else if (const Refused* refused = find_key(kRefused, key)) {
    if (!is_off(value)) throw BadRequest(key + ": is not done here: " + refused->fix);
  } else {
    return false;
  }
  return true;
}

std::vector<std::string> foreign_keys() {
  std::vector<std::string> keys;
  keys.reserve(kAliases.size() + kRules.size() + kMoot.size() + kRefused.size());
  for (const Alias& each : kAliases) keys.emplace_back(each.key);
  for (const Rule& each : kRules) keys.emplace_back(each.key);
  for (const Moot& each : kMoot) keys.emplace_back(each.key);
  for (const Refused& each : kRefused) keys.emplace_back(each.key);
  return keys;
}

}  // namespace sluice::planner
