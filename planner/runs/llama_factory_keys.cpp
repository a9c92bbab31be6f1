// Keys of LLaMA-Factory's training files (0.9) that transformers' TrainingArguments do not have.
#include <array>
#include <cmath>

#include "planner/runs/foreign_key.hpp"
#include "planner/runs/foreign_rules.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

constexpr const char* kStages = "it belongs to a stage that is refused by its own name";
constexpr const char* kMethod = "it belongs to a method that is refused by its own switch";

void set_dataset(RunConfig& run, Text value, Text key) {
  if (value.starts_with("{")) {
    throw BadRequest(key +
                     ": a map is torchtune's form: write data: FILE, and columns: {prompt: "
                     "NAME, response: NAME} where its fields have other names");
  }
  if (is_none(value)) return;
  const bool list = value.starts_with("[");
  run.data = list ? parse_data(value, key) : parse_data_names(value, key);
  run.stated.insert("data");
}

/// Sets the data sets' shares, one number each.
void set_probabilities(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  std::string text = value;
  if (text.starts_with("[") && text.ends_with("]")) text = text.substr(1, text.size() - 2);
  const std::vector<DataEntry> numbers = parse_data_names(text, key);
  if (numbers.size() != run.data.size()) {
    throw BadRequest(key + ": " + std::to_string(numbers.size()) + " numbers for " +
                     std::to_string(run.data.size()) + " data sets: give one each");
  }
  if (run.mixture == Mixture::weights && !run.stated.contains("mixture")) {
    throw BadRequest(
        key +
        ": belongs to mix_strategy: interleave_under or interleave_over, without which "
        "LLaMA-Factory refuses it: state one, or weights of data");
  }
  double sum = 0;
  std::vector<double> shares;
  for (const DataEntry& each : numbers) {
    std::string number = each.name.string();
    std::erase(number, '"');
    shares.push_back(parse_number(number, key));
    if (!(shares.back() > 0)) throw BadRequest(key + ": each must be more than 0");
    sum += shares.back();
  }
  if (std::abs(sum - 1) > 1e-6) {
    throw BadRequest(key + ": sum to " + format_amount(sum) + ", and probabilities sum to 1");
  }
  if (run.data.size() == 1 || run.mixture == Mixture::weights) return;
  for (std::size_t i = 0; i < shares.size(); ++i) run.data[i].share = shares[i];
}

/// Sets what a pass over the data sets is. LLaMA-Factory draws from them at random by
/// interleave_probs, else in turns.
void set_mixing(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  require_one_of(value, key, {"concat", "interleave_under", "interleave_over", "interleave_once"},
                 "concat and interleave_under, _over and _once are");
  if (value == "concat") return;
  if (value == "interleave_under") run.mixture = Mixture::first_exhausted;
  if (value == "interleave_over") run.mixture = Mixture::all_exhausted;
  run.stated.insert("mixture");
  const bool once = value == "interleave_once";
  run.notes.push_back(key + ": " + value +
                      (once ? " reads every row once a pass; sets are mixed in proportion to their "
                              "rows"
                            : " mixes data sets evenly by their shares, where LLaMA-Factory draws "
                              "them at random"));
}

void set_stage(RunConfig&, Text value, Text key) {
  require_one_of(value, key, {"pt", "sft"},
                 "pre-training (pt) and supervised fine-tuning (sft) are; preference data and "
                 "rewards wait for a method that uses them");
}

void set_default_system(RunConfig&, Text value, Text key) {
  if (is_none(value)) return;
  throw BadRequest(key + ": templates write their own: give the rows a system turn with this text");
}

void set_thinking(RunConfig&, Text value, Text key) {
  if (is_none(value) || parse_yes_or_no(value, key)) return;
  throw BadRequest(key + ": \"" + value +
                   "\" is not done here: give the rows chat_template_kwargs: {enable_thinking: "
                   "false}, which a template that knows the word reads");
}

constexpr std::array kLlamaFactoryKeys = {
    alias("model_name_or_path", "model"),
    alias("cutoff_len", "seq_len"),
    alias("moe_aux_loss_coef", "router_aux_loss_coef"),
    rule("dataset", set_dataset),
    rule("mix_strategy", set_mixing),
    rule("interleave_probs", set_probabilities),
    rule("neat_packing",
         [](RunConfig& run, Text v, Text k) {
           if (parse_yes_or_no(v, k)) set_path(run, "packing", "documents");
         }),
    rule("default_system", set_default_system),
    rule("enable_thinking", set_thinking),
    rule("stage", set_stage),
    rule("pure_bf16", set_pure_bf16),
    rule("model_revision", set_revision),

    adapter("finetuning_type"),
    adapter("adapter_name_or_path"),
    adapter("adapter_folder"),
    adapter("lora_*"),
    adapter("loraplus_*"),
    adapter("use_rslora"),
    adapter("use_dora"),
    adapter("pissa_*"),
    adapter("create_new_adapter"),
    adapter("additional_target"),
    adapter("oft_*"),
    adapter("module_dropout"),
    adapter("freeze_trainable_layers"),
    adapter("freeze_trainable_modules"),
    adapter("freeze_extra_modules"),
    adapter("use_llama_pro"),
    adapter("quantization_*"),
    adapter("double_quantization"),

    moot("attn", kPlanned),
    moot("apollo_*", kMethod),
    moot("audio_*", kNoPicture),
    moot("badam_*", kMethod),
    moot("buffer_size", kNoLoader),
    moot("cache_dir", "models are found in the local Hugging Face cache (HF_HOME)"),
    moot("compute_accuracy", kMeanLoss),
    moot("crop_to_patches", kNoPicture),
    moot("data_shared_file_system", kNoLoader),
    moot("disable_gradient_checkpointing", kPlanned),
    moot("do_sample", kGenerates),
    moot("dpo_*", kStages),
    moot("enable_liger_kernel", kPlanned),
    moot("eval_num_beams", kGenerates),
    moot("eval_on_each_dataset", "validation is the last twentieth of all the data"),
    moot("export_*", "`sluice export` writes the model"),
    moot("flash_attn", kPlanned),
    moot("fp8_*", kMethod),
    moot("freeze_language_model", kNoPicture),
    moot("freeze_multi_modal_projector", kNoPicture),
    moot("freeze_vision_tower", kNoPicture),
    moot("galore_*", kMethod),
    moot("hf_hub_token", "nothing is downloaded"),
    moot("ignore_pad_token_for_loss", "no padding is learnt"),
    moot("image_*", kNoPicture),
    moot("include_effective_tokens_per_second", "every line of metrics.jsonl has its tokens"),
    moot("include_mfu", "`sluice predict` states the model's FLOP/s"),
    moot("infer_*", kGenerates),
    moot("init_special_tokens", kMethod),
    moot("kto_*", kStages),
    moot("ld_alpha", kStages),
    moot("low_cpu_mem_usage", kPlanned),
    moot("max_new_tokens", kGenerates),
    moot("media_dir", kNoPicture),
    moot("ms_hub_token", "nothing is downloaded"),
    moot("offload_folder", kPlanned),
    moot("om_hub_token", "nothing is downloaded"),
    moot("overwrite_cache", "tokens are cached by the hashes of text and tokenizer"),
    moot("plot_loss", "report.html shows the loss"),
    moot("ppo_*", kStages),
    moot("pref_*", kStages),
    moot("preprocessing_batch_size", kNoLoader),
    moot("preprocessing_num_workers", kNoLoader),
    moot("print_param_status", "`sluice models show` prints what is trained"),
    moot("ref_model*", kStages),
    moot("reward_model*", kStages),
    moot("sequence_parallel_*", kOneGpu),
    moot("simpo_*", kStages),
    moot("streaming", kNoLoader),
    moot("swanlab_*", kLogged),
    moot("temperature", kGenerates),
    moot("tool_format", "the model's chat template writes tools"),
    moot("top_k", kGenerates),
    moot("top_p", kGenerates),
    moot("trust_remote_code", "no code of a model's folder is run"),
    moot("upcast_layernorm", "norms are computed in fp32"),
    moot("upcast_lmhead_output", "the loss is computed in fp32"),
    moot("use_audio_in_video", kNoPicture),
    moot("use_fast_tokenizer", "tokenizer.json is read"),
    moot("use_kv_cache", kGenerates),
    moot("use_reentrant_gc", kPlanned),
    moot("use_swanlab", kLogged),
    moot("use_unsloth", kPlanned),
    moot("use_unsloth_gc", kPlanned),
    moot("use_v1_kernels", kPlanned),
    moot("val_size", kValidation),
    moot("video_*", kNoPicture),

    refused("add_special_tokens", kVocabulary),
    refused("add_tokens", kVocabulary),
    refused("disable_shuffling", "sequences are in the seed's order"),
    refused("early_stopping_steps", "write keep_best: true, and stop the run by Ctrl-C"),
    refused("eval_dataset", kValidation),
    refused("fp8*", "write compute: fp8-tensorwise, or compute: fp8"),
    refused("mask_history", kAnswers),
    refused("mixture_of_depths", kModelFile),
    refused("new_special_tokens_config", kVocabulary),
    refused("predict_with_generate", kGenerates),
    refused("resize_vocab", kVocabulary),
    refused("rope_scaling", kModelFile),
    refused("shift_attn", kModelFile),
    refused("split_special_tokens", "special tokens of the text are read as such"),
    refused("tokenized_path", "give the text as data"),
    refused("train_from_scratch",
            "name the model's config.json alone as model: its weights are then random"),
    refused("train_on_prompt", kAnswers),
    refused("use_adam_mini", kAdamW),
    refused("use_apollo", kAdamW),
    refused("use_asft_loss", "the loss is cross-entropy"),
    refused("use_badam", kAdamW),
    refused("use_dft_loss", "the loss is cross-entropy"),
    refused("use_eaft_loss", "the loss is cross-entropy"),
    refused("use_galore", kAdamW),
    refused("use_muon", "write optimizer.kind: muon"),
};

}  // namespace

std::span<const ForeignKey> llama_factory_keys() { return kLlamaFactoryKeys; }

}  // namespace sluice::planner
