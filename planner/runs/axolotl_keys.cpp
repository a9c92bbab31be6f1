// Keys of axolotl's training files (0.4 to 0.12) that transformers' TrainingArguments do not have.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "planner/files/yaml_document.hpp"
#include "planner/runs/axolotl_data.hpp"
#include "planner/runs/foreign_key.hpp"
#include "planner/runs/foreign_rules.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

constexpr const char* kTokenizerOfFolder = "the tokenizer of the model's folder is read";
constexpr const char* kPreferences = "it belongs to rl, which is refused by its own name";

/// A number of evaluations or saves a pass, as the part of a pass between two of them.
template <const char* path>
void set_per_epoch(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  const std::int64_t number = parse_count(value, key);
  if (number == 0) return set_path(run, path, "0");
  set_cadence(run, path, {.amount = 1.0 / static_cast<double>(number), .of = Cadence::Of::pass});
}
constexpr char kEvaluate[] = "evaluate_every";
constexpr char kSave[] = "save_every";

void set_min_ratio(RunConfig& run, Text value, Text key) {
  if (!is_none(value)) run.schedule.final_fraction = parse_between(value, key, 0, 1);
}

/// The texts of a token, or of a list of tokens.
std::vector<std::string> tokens_in(const YAML::Node& node, Text key) {
  std::vector<std::string> tokens;
  if (node.IsScalar()) tokens.push_back(node.Scalar());
  for (const auto& each : node) {
    if (!each.IsScalar()) throw BadRequest(key + ": must be a list of tokens");
    tokens.push_back(each.Scalar());
  }
  return tokens;
}

/// Names of a tokenizer's special tokens, of which those that begin and end texts must be the
/// model's own.
void set_special_tokens(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  read_yaml(value, key, [&](const YAML::Node& map) {
    if (!map.IsMap()) throw BadRequest(key + ": must be a map of tokens");
    for (const auto& item : map) {
      const std::string name = item.first.Scalar();
      if (name == "additional_special_tokens") {
        run.tokenizer_claims.tokens[key + "." + name] = tokens_in(item.second, key + "." + name);
      } else if (name != "eos_token" && name != "bos_token") {
        run.notes.push_back(key + "." + name + " is ignored: nothing that is learnt holds it");
      } else if (!item.second.IsNull()) {
        if (!item.second.IsScalar())
          throw BadRequest(key + "." + name + ": must be a token's text");
        run.tokenizer_claims.special[name] = item.second.Scalar();
      }
    }
  });
}

/// Tokens that end turns; the template's own is learnt.
void set_turn_ends(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  read_yaml(value, key,
            [&](const YAML::Node& list) { run.tokenizer_claims.turn_ends = tokens_in(list, key); });
}

/// Tokens that axolotl adds where the tokenizer lacks them.
void set_tokens(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  read_yaml(value, key, [&](const YAML::Node& list) {
    run.tokenizer_claims.tokens[key] = tokens_in(list, key);
  });
}

void set_jinja(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  if (value.find("{%") != std::string::npos || value.find("{{") != std::string::npos) {
    throw BadRequest(key + ": write the template into a file, and template: FILE.jinja");
  }
  set_path(run, "template", value);
}

/// Plugins that only replace kernels change nothing; others train something else.
void set_plugins(RunConfig& run, Text value, Text key) {
  constexpr std::array kKernels = {"liger", "cut_cross_entropy", "kernels", "cce"};
  if (is_none(value)) return;
  read_yaml(value, key, [&](const YAML::Node& list) {
    for (const auto& item : list) {
      const std::string& plugin = item.Scalar();
      const bool kernels = std::ranges::any_of(
          kKernels, [&plugin](const char* part) { return plugin.find(part) != std::string::npos; });
      if (!kernels) throw BadRequest(key + ": " + plugin + " is not done here: leave it out");
    }
  });
  run.notes.push_back(key + " is ignored: " + kPlanned);
}

void set_rl(RunConfig&, Text value, Text key) {
  if (says_off(value)) return;
  throw BadRequest(key + ": \"" + value +
                   "\" is not done here: supervised fine-tuning and pre-training are; preference "
                   "data and rewards wait for a method that uses them");
}

/// Questions are never learnt; texts to continue have none.
void set_train_on_inputs(RunConfig& run, Text value, Text key) {
  if (is_none(value) || !parse_yes_or_no(value, key)) return;
  const auto is_text = [](const DataEntry& each) { return each.format == DataFormat::jsonl; };
  const bool texts = run.stated.contains("pretraining_dataset") ||
                     (!run.data.empty() && std::ranges::all_of(run.data, is_text));
  if (!texts) throw BadRequest(key + ": is not done here (a key of axolotl): " + kAnswers);
  run.notes.push_back(key + " is ignored: texts are learnt as a whole");
}

constexpr std::array kAxolotlKeys = {
    alias("base_model", "model"),
    alias("sequence_len", "seq_len"),
    alias("num_epochs", "epochs"),
    alias("router_aux_loss_coef", "router_aux_loss_coef"),
    rule("micro_batch_size", set_per_device),
    rule("datasets", set_axolotl_data),
    rule("pretraining_dataset", set_axolotl_pretraining),
    rule("sample_packing", set_packing),
    rule("lr_scheduler", set_scheduler),
    rule("cosine_min_lr_ratio", set_min_ratio),
    rule("optimizer", set_optimizer),
    rule("bfloat16", set_pure_bf16),
    rule("chat_template", set_chat_template),
    rule("chat_template_jinja", set_jinja),
    rule("evals_per_epoch", set_per_epoch<kEvaluate>),
    rule("saves_per_epoch", set_per_epoch<kSave>),
    rule("special_tokens", set_special_tokens),
    rule("eot_tokens", set_turn_ends),
    rule("tokens", set_tokens),
    rule("plugins", set_plugins),
    rule("rl", set_rl),
    rule("train_on_inputs", set_train_on_inputs),
    rule("revision_of_model", set_revision),

    adapter("adapter"),
    adapter("load_in_4bit"),
    adapter("load_in_8bit"),
    adapter("peft"),
    adapter("peft_*"),
    adapter("qlora_*"),
    adapter("relora*"),
    adapter("jagged_restart_*"),
    adapter("bnb_*"),
    adapter("gptq*"),
    adapter("merge_lora"),
    adapter("merge_method"),

    moot("attention", kPlanned),
    moot("attn_implementation", kPlanned),
    moot("auto_resume_from_checkpoints", "give --resume"),
    moot("batch_flattening", kPlanned),
    moot("bench_*", kMeanLoss),
    moot("comet_*", kLogged),
    moot("context_parallel_size", kOneGpu),
    moot("cut_cross_entropy", kPlanned),
    moot("dataset_keep_in_memory", kNoLoader),
    moot("dataset_num_proc", kNoLoader),
    moot("dataset_prepared_path", "tokens are cached by the hashes of text and tokenizer"),
    moot("dataset_processes", kNoLoader),
    moot("ddp", kOneGpu),
    moot("device", kPlanned),
    moot("device_map", kPlanned),
    moot("do_bench_eval", kMeanLoss),
    moot("do_causal_lm_eval", kMeanLoss),
    moot("dp_*", kOneGpu),
    moot("dpo_beta", kPreferences),
    moot("eager_attention", kPlanned),
    moot("eval_batch_size", kPlanned),
    moot("eval_causal_lm_metrics", kMeanLoss),
    moot("eval_max_new_tokens", kMeanLoss),
    moot("eval_sample_packing", "validation is packed as training is"),
    moot("eval_table_*", kMeanLoss),
    moot("experimental_skip_move_to_device", kPlanned),
    moot("experts_implementation", kPlanned),
    moot("flash_attention", kPlanned),
    moot("flash_attn_*", kPlanned),
    moot("flash_optimum", kPlanned),
    moot("flex_attention", kPlanned),
    moot("flex_attn_*", kPlanned),
    moot("gc_steps", kPlanned),
    moot("gpu_memory_limit", "write limits: {hbm: 24 GiB}"),
    moot("gradio_*", kLogged),
    moot("heads_k_stride", kOneGpu),
    moot("hf_use_auth_token", "nothing is downloaded"),
    moot("is_falcon_derived_model", "config.json says what the model is"),
    moot("is_llama_derived_model", "config.json says what the model is"),
    moot("is_mistral_derived_model", "config.json says what the model is"),
    moot("is_qwen_derived_model", "config.json says what the model is"),
    moot("kto_desirable_weight", kPreferences),
    moot("kto_undesirable_weight", kPreferences),
    moot("liger_*", kPlanned),
    moot("load_best_model", "write keep_best: true"),
    moot("loss_watchdog_*", "a loss that is no number ends the run"),
    moot("max_memory", "write limits: {hbm: 24 GiB, host: 64 GiB}"),
    moot("mean_resizing_embeddings", kVocabulary),
    moot("mlflow_*", kLogged),
    moot("model_type", "config.json says what the model is"),
    moot("multipack_real_batches", kPlanned),
    moot("orpo_alpha", kPreferences),
    moot("otel_*", kLogged),
    moot("pad_to_sequence_len", "sequences are padded to seq_len"),
    moot("pretrain_multipack_*", kPlanned),
    moot("profiler_steps*", "give --trace-out"),
    moot("push_dataset_to_hub", kNoUpload),
    moot("ring_attn_func", kOneGpu),
    moot("rl_beta", kPreferences),
    moot("sample_packing_*", kPlanned),
    moot("save_first_step", "write save_every"),
    moot("sdp_attention", kPlanned),
    moot("sdpa_attention", kPlanned),
    moot("sequence_parallel_degree", kOneGpu),
    moot("shuffle_merged_datasets", "sequences are in the seed's order"),
    moot("skip_prepare_dataset", kNoLoader),
    moot("tensor_parallel_size", kOneGpu),
    moot("tiled_mlp*", kPlanned),
    moot("tokenizer_legacy", kTokenizerOfFolder),
    moot("tokenizer_save_jinja_files", kTokenizerOfFolder),
    moot("tokenizer_type", kTokenizerOfFolder),
    moot("tokenizer_use_fast", kTokenizerOfFolder),
    moot("tokenizer_use_mistral_common", kTokenizerOfFolder),
    moot("trl", kPreferences),
    moot("unsloth_*", kPlanned),
    moot("use_kernels", kPlanned),
    moot("use_ray", kOneGpu),
    moot("use_tensorboard", kLogged),
    moot("use_wandb", kLogged),
    moot("val_set_size", kValidation),
    moot("vllm", kPreferences),
    moot("wandb_*", kLogged),
    moot("world_size", kOneGpu),
    moot("xformers_attention", kPlanned),

    refused("adam_beta3", kAdamW),
    refused("adam_epsilon2", kAdamW),
    refused("added_tokens_overrides", kVocabulary),
    refused("base_model_config", "name a folder with config.json and weights as model"),
    refused("cls_model_config", kModelFile),
    refused("cosine_constant_lr_ratio", "write schedule: {kind: wsd, decay_shape: cosine}"),
    refused("curriculum_sampling", "sequences are in the seed's order"),
    refused("dataset_exact_deduplication", "remove double rows from the data"),
    refused("dataset_shard_idx", "write max_samples: N"),
    refused("dataset_shard_num", "write max_samples: N"),
    refused("default_system_message", "write a system turn into the data"),
    refused("diffusion", "the model predicts the next token"),
    refused("early_stopping_patience", "write keep_best: true, and stop the run by Ctrl-C"),
    refused("embedding_lr", "one learning rate holds for all weights"),
    refused("embedding_lr_scale", "one learning rate holds for all weights"),
    refused("fix_untrained_tokens", kVocabulary),
    refused("float16", "write bf16: true, or compute: bf16"),
    refused("fp8*", "write compute: fp8-tensorwise, or compute: fp8"),
    refused("lisa_n_layers", kAllWeights),
    refused("lr_groups", "one learning rate holds for all weights"),
    refused("lr_quadratic_warmup", "the warm-up is linear"),
    refused("min_sample_len", "remove short rows from the data"),
    refused("model_config", kModelFile),
    refused("model_quantization_config", kAllWeights),
    refused("noisy_embedding_alpha", "embeddings get no noise: leave it out"),
    refused("num_labels", "the model predicts the next token"),
    refused("overrides_of_model_config", kModelFile),
    refused("overrides_of_model_kwargs", kModelFile),
    refused("process_reward_model", "the model predicts the next token"),
    refused("processor_type", kNoPicture),
    refused("qat", kAllWeights),
    refused("reinit_weights",
            "name the model's config.json alone as model: its weights are then random"),
    refused("reward_model", "the model predicts the next token"),
    refused("s2_attention", kModelFile),
    refused("shrink_embeddings", kVocabulary),
    refused("test_datasets", kValidation),
    refused("tokenizer_config", "put that tokenizer.json into the model's folder"),
    refused("torchdistx_path", kAdamW),
    refused("unfrozen_parameters", kAllWeights),
    refused("use_pose", "positions count from 0 by one"),
    refused("resize_token_embeddings_to_32x", kVocabulary),
};

}  // namespace

std::span<const ForeignKey> axolotl_keys() { return kAxolotlKeys; }

}  // namespace sluice::planner
