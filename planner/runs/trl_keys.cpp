// Keys of TRL's SFT scripts (SFTConfig, ModelConfig, ScriptArguments; 0.9 to 1.16) that
// transformers' TrainingArguments do not have.
#include <array>

#include "planner/runs/foreign_key.hpp"
#include "planner/runs/foreign_rules.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

void set_dataset_name(RunConfig& run, Text value, Text) {
  if (!is_none(value)) set_path(run, "data", value);
}

/// Sets a field of the data set that is named, which all such keys come after.
template <std::optional<std::string> DataEntry::*member>
void set_of_dataset(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  if (run.data.empty()) throw BadRequest(key + ": dataset_name is missing: name the data set");
  for (DataEntry& each : run.data) each.*member = value;
}

void set_text_field(RunConfig& run, Text value, Text) {
  if (!is_none(value) && value != "text") set_path(run, "columns.text", value);
}

/// Accepts that only answers are learnt, and refuses that all tokens are.
void set_answers_only(RunConfig&, Text value, Text key) {
  if (is_none(value) || parse_yes_or_no(value, key)) return;
  throw BadRequest(key + ": \"" + value +
                   "\" is not done here: the loss is on the assistant's answers: leave it out");
}

void set_loss(RunConfig&, Text value, Text key) {
  if (is_none(value)) return;
  require_one_of(value, key, {"nll", "chunked_nll"}, "the loss is cross-entropy (nll)");
}

constexpr std::array kTrlKeys = {
    alias("max_length", "seq_len"),
    alias("max_seq_length", "seq_len"),
    rule("dataset_name", set_dataset_name),
    rule("dataset_config", set_of_dataset<&DataEntry::subset>),
    rule("dataset_train_split", set_of_dataset<&DataEntry::split>),
    rule("dataset_text_field", set_text_field),
    rule("assistant_only_loss", set_answers_only),
    rule("completion_only_loss", set_answers_only),
    rule("loss_type", set_loss),
    rule("torch_dtype", set_type),
    rule("chat_template_path", [](RunConfig& run, Text v, Text) { set_path(run, "template", v); }),

    adapter("use_peft"),
    adapter("use_bnb_nested_quant"),

    moot("activation_offloading", kPlanned),
    moot("dataset_batch_size", kNoLoader),
    moot("dataset_kwargs", kNoLoader),
    moot("dataset_streaming", kNoLoader),
    moot("dataset_test_split", kValidation),
    moot("eos_token", "the tokenizer of the model's folder is read"),
    moot("eval_packing", "validation is packed as training is"),
    moot("ignore_bias_buffers", kOneGpu),
    moot("model_init_kwargs", kPlanned),
    moot("num_of_sequences", kPlanned),
    moot("packing_strategy", kPlanned),
    moot("pad_to_multiple_of", "sequences are padded to seq_len"),
    moot("pad_token", "the tokenizer of the model's folder is read"),
    moot("padding_free", kPlanned),
    moot("shuffle_dataset", "sequences are in the seed's order"),
    moot("test_split_size", kValidation),
    moot("truncation_mode", "rows are cut at their end"),
    moot("use_liger", kPlanned),
};

}  // namespace

std::span<const ForeignKey> trl_keys() { return kTrlKeys; }

}  // namespace sluice::planner
