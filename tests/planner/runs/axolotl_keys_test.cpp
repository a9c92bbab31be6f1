// Tests of axolotl's training files read as run files.
#include <gtest/gtest.h>

#include "planner/runs/run_config.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

/// A full fine-tuning file with all keys that axolotl's own examples of our families have.
constexpr const char* kAxolotlRun = R"(base_model: bytes-2m
model_type: MistralForCausalLM
tokenizer_type: LlamaTokenizer
is_mistral_derived_model: true
plugins:
  - axolotl.integrations.liger.LigerPlugin
liger_rope: true
load_in_8bit: false
load_in_4bit: false
strict: false
chat_template: tokenizer_default
datasets:
  - path: chat.jsonl
    type: chat_template
    split: train
    field_messages: conversations
    message_property_mappings:
      role: from
      content: value
    roles:
      assistant: [gpt, model]
      user:
        - human
    message_field_training: learn
    roles_to_train: ["assistant"]
    train_on_eos: turn
  - path: json
    data_files: qa.jsonl
    type:
      field_instruction: question
      field_output: answer
dataset_prepared_path: last_run_prepared
val_set_size: 0.05
output_dir: ./outputs/out
adapter:
lora_r:
sequence_len: 128
sample_packing: true
pad_to_sequence_len: true
eval_sample_packing: false
wandb_project:
wandb_entity:
gradient_accumulation_steps: 4
micro_batch_size: 2
num_epochs: 4
optimizer: paged_adamw_8bit
lr_scheduler: cosine
cosine_min_lr_ratio: 0.1
learning_rate: 2e-5
train_on_inputs: false
group_by_length: false
bf16: auto
fp16:
tf32: false
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: false
early_stopping_patience:
resume_from_checkpoint:
local_rank:
logging_steps: 1
xformers_attention:
flash_attention: true
loss_watchdog_threshold: 5.0
warmup_ratio: 0.1
evals_per_epoch: 4
eval_table_size:
eval_max_new_tokens: 128
saves_per_epoch: 1
debug:
deepspeed: deepspeed_configs/zero3_bf16.json
weight_decay: 0.0
fsdp:
  - full_shard
fsdp_config:
  fsdp_offload_params: true
special_tokens:
  pad_token: "<|end_of_text|>"
)";

TEST(AxolotlKeys, AnAxolotlFileIsARun) {
  RunConfig run = run_from_yaml(kAxolotlRun, "RUN.yaml");
  settle(run);
  EXPECT_EQ(run.model, "bytes-2m");
  EXPECT_EQ(run.seq_len, 128);
  EXPECT_EQ(run.micro_batch, 2);
  EXPECT_EQ(run.batch_size, 8);
  EXPECT_EQ(run.epochs, 4.0);
  EXPECT_EQ(run.packing, Packing::documents);
  EXPECT_EQ(run.chat_template, std::nullopt);
  EXPECT_EQ(run.compute, ComputeType::bf16);
  EXPECT_EQ(run.schedule.kind, Schedule::Kind::cosine);
  EXPECT_DOUBLE_EQ(run.schedule.warmup_fraction, 0.1);
  EXPECT_DOUBLE_EQ(run.schedule.final_fraction, 0.1);
  EXPECT_DOUBLE_EQ(run.optimizer.lr, 2e-5);
  EXPECT_EQ(run.optimizer.weight_decay, 0);
  EXPECT_EQ(run.out, "./outputs/out");
  EXPECT_EQ(run.evaluate_cadence, (Cadence{.amount = 0.25, .of = Cadence::Of::pass}));
  EXPECT_EQ(run.save_cadence, (Cadence{.amount = 1, .of = Cadence::Of::pass}));
  ASSERT_EQ(run.data.size(), 2U);
  const DataEntry& chat = run.data[0];
  EXPECT_EQ(chat.name, "chat.jsonl");
  EXPECT_EQ(chat.format, DataFormat::messages);
  EXPECT_EQ(chat.split, "train");
  EXPECT_EQ(chat.columns, (std::map<std::string, std::string>{{"messages", "conversations"},
                                                              {"role", "from"},
                                                              {"content", "value"},
                                                              {"learnt", "learn"}}));
  EXPECT_EQ(chat.roles, (std::map<std::string, std::string>{
                            {"gpt", "assistant"}, {"model", "assistant"}, {"human", "user"}}));
  EXPECT_EQ(run.data[1].name, "qa.jsonl");
  EXPECT_EQ(run.data[1].format, DataFormat::alpaca);
  EXPECT_EQ(run.data[1].columns,
            (std::map<std::string, std::string>{{"prompt", "question"}, {"response", "answer"}}));
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(run), "run.yaml")), to_yaml(run));
  // Keys without a value say nothing; each that is set and changes nothing gets one line.
  for (const std::string& note : run.notes)
    EXPECT_EQ(note.find("wandb"), std::string::npos) << note;
  const auto told = [&run](const char* text) {
    return std::ranges::count_if(
        run.notes, [text](const std::string& note) { return note.starts_with(text); });
  };
  EXPECT_EQ(told("optimizer: paged_adamw_8bit is AdamW, whose state is kept at 32 bits"), 1);
  EXPECT_EQ(told("deepspeed is ignored"), 1);
  EXPECT_EQ(told("val_set_size is ignored: the last twentieth"), 1);
  EXPECT_EQ(told("special_tokens.pad_token is ignored: nothing that is learnt"), 1);
}

TEST(AxolotlKeys, WhatAFileSaysOfTheTokenizerIsKeptForTheModelsOwn) {
  const TokenizerClaims claims = run_from_yaml(R"(
special_tokens:
  eos_token: "<|im_end|>"
  bos_token:
  additional_special_tokens: [<a>, <b>]
eot_tokens:
  - "<|im_end|>"
tokens: [<c>]
)",
                                               "RUN.yaml")
                                     .tokenizer_claims;
  EXPECT_EQ(claims.special, (std::map<std::string, std::string>{{"eos_token", "<|im_end|>"}}));
  EXPECT_EQ(claims.turn_ends, std::vector<std::string>{"<|im_end|>"});
  EXPECT_EQ(claims.tokens, (std::map<std::string, std::vector<std::string>>{
                               {"special_tokens.additional_special_tokens", {"<a>", "<b>"}},
                               {"tokens", {"<c>"}}}));
}

TEST(AxolotlKeys, CadencesBecomeStepsOnceTheRunsLengthIsKnown) {
  RunConfig run = run_from_yaml("evals_per_epoch: 4\nsaves_per_epoch: 1\n", "RUN.yaml");
  run.steps = 30;
  settle_cadences(run, 10);
  EXPECT_EQ(run.evaluate_every, 3);  // 2.5, rounded up as transformers does
  EXPECT_EQ(run.save_every, 10);
  EXPECT_EQ(run.save_cadence, std::nullopt);
}

TEST(AxolotlKeys, DataSetsOfManyKinds) {
  const auto first = [](const std::string& entry) {
    return run_from_yaml("datasets: [" + entry + "]\n", "RUN.yaml").data.front();
  };
  EXPECT_EQ(first("{path: a.jsonl, type: alpaca}").format, DataFormat::alpaca);
  EXPECT_EQ(first("{path: a.jsonl, type: \"completion:body\"}").columns.at("text"), "body");
  EXPECT_EQ(first("{path: a.jsonl, type: completion, field: body}").columns.at("text"), "body");
  EXPECT_EQ(first("{path: a.jsonl, type: sharegpt.load_role}").format, DataFormat::sharegpt);
  const DataEntry part = first("{path: org/set, name: main, split: \"train[:10%]\"}");
  EXPECT_EQ(part.split, "train");
  EXPECT_EQ(part.max_percent, 10.0);
  EXPECT_EQ(first("{path: a.jsonl, split: \"train[0:500]\"}").max_samples, 500);
  EXPECT_EQ(first("{path: a.jsonl, split: \"train[:]\"}").max_samples, std::nullopt);
  EXPECT_EQ(first("{path: org/set, data_files: [x.jsonl]}").name, "org/set/x.jsonl");
  EXPECT_EQ(first("{path: a, shards: null, ds_type: json, trust_remote_code: false}").name, "a");
  EXPECT_REFUSED(first("{path: a, type: jeopardy}"), "datasets[0].type: \"jeopardy\"");
  EXPECT_REFUSED(first("{path: a, typ: alpaca}"), "did you mean \"type\"");
  EXPECT_REFUSED(first("{type: alpaca}"), "datasets[0]: path is missing");
  EXPECT_REFUSED(first("{path: a, roles_to_train: [user]}"), "the assistant is learnt");
  EXPECT_REFUSED(first("{path: a, drop_system_message: true}"), "remove the system turns");
  EXPECT_REFUSED(first("{path: a, shards: 4}"), "write max_samples: N");
  EXPECT_REFUSED(first("{path: a, train_on_eos: last}"), "the end of every answer is learnt");
  EXPECT_REFUSED(first("{path: a, train_on_eos: all}"), "and no other: write turn");
  EXPECT_REFUSED(first("{path: a, train_on_eot: all}"), "datasets[0].train_on_eot: \"all\"");
  EXPECT_REFUSED(first("{path: a, split: \"train[10%:]\"}"), "the first rows of a split are");
  EXPECT_REFUSED(first("{path: a, split: \"train[:-5]\"}"), "the first rows of a split are");
  EXPECT_REFUSED(first("{path: a, split: \"train[:20%]+test\"}"), "the first rows of a split");
  EXPECT_REFUSED(first("{path: a, split: \"train[:200%]\"}"), "at most 100%");
  const RunConfig streamed = run_from_yaml(
      "pretraining_dataset:\n  - path: corpus.jsonl\n    text_column: body\n", "RUN.yaml");
  EXPECT_EQ(streamed.data.front().format, DataFormat::jsonl);
}

TEST(AxolotlKeys, RolesAreAxolotlsWhereAnEntryStatesNone) {
  const auto first = [](const std::string& entry) {
    return run_from_yaml("datasets: [" + entry + "]\n", "RUN.yaml").data.front();
  };
  const std::map<std::string, std::string> theirs = {{"gpt", "assistant"}, {"human", "user"}};
  EXPECT_EQ(first("{path: a, type: chat_template}").roles, theirs);
  EXPECT_EQ(first("{path: a, type: chat_template, roles: {user: [me]}}").roles,
            (std::map<std::string, std::string>{{"me", "user"}}));
  EXPECT_TRUE(first("{path: a, type: alpaca}").roles.empty());
}

TEST(AxolotlKeys, NoRolesToTrainLearnsTheMarkedTurnsAlone) {
  const auto read = [](const std::string& entry) {
    return run_from_yaml("datasets:\n  - {path: a, type: chat_template, " + entry + "}\n",
                         "RUN.yaml");
  };
  const RunConfig run = read("roles_to_train: [], message_field_training: keep");
  EXPECT_TRUE(run.data.front().only_marked);
  EXPECT_EQ(run_from_yaml(to_yaml(run), "run.yaml").data, run.data);
  EXPECT_FALSE(
      read("roles_to_train: [assistant], message_field_training: keep").data.front().only_marked);
  EXPECT_FALSE(read("roles_to_train:").data.front().only_marked);
  EXPECT_REFUSED(read("roles_to_train: []"), "as message_field_training");
}

TEST(AxolotlKeys, OneChatTemplateHoldsForARun) {
  const auto named = [](const std::string& text) {
    return run_from_yaml(text, "RUN.yaml").chat_template;
  };
  const std::string chat = "{path: a, type: chat_template, chat_template: ";
  EXPECT_EQ(named("datasets: [" + chat + "chatml}]\n"), "chatml");
  // What an entry states holds over the file, wherever that stands.
  EXPECT_EQ(named("datasets: [" + chat + "chatml}]\nchat_template: phi4\n"), "chatml");
  EXPECT_EQ(named("datasets: [" + chat + "jinja, chat_template_jinja: t.jinja}]\n"), "t.jinja");
  EXPECT_EQ(named("datasets: [" + chat + "chatml}, " + chat + "chatml}]\n"), "chatml");
  EXPECT_EQ(named("datasets: [" + chat + "chatml}, {path: b, type: completion}]\n"), "chatml");
  EXPECT_REFUSED(named("datasets: [" + chat + "chatml}, " + chat + "phi4}]\n"),
                 "datasets[1].chat_template: phi4 is not done here beside the data sets before, "
                 "which have chatml");
  EXPECT_REFUSED(named("datasets: [" + chat + "chatml}, {path: b, type: chat_template}]\n"),
                 "the tokenizer's own");
  EXPECT_REFUSED(
      named("chat_template: llama3\ndatasets: [{path: b, type: chat_template}, " + chat + "phi4}]"),
      "phi4 is not done here beside the data sets before, which have llama3");
}

TEST(AxolotlKeys, APretrainingFileLearnsItsTextsAsAWhole) {
  const auto read = [](const std::string& text) { return run_from_yaml(text, "RUN.yaml"); };
  const RunConfig run = read(
      "train_on_inputs: true\nexperts_implementation: scattermoe\npretraining_dataset:\n"
      "  - {path: pt.jsonl, name: en, type: pretrain, split: train}\n");
  EXPECT_EQ(run.data.front().format, DataFormat::jsonl);
  EXPECT_EQ(run.data.front().subset, "en");
  EXPECT_EQ(run.notes,
            (std::vector<std::string>{"experts_implementation is ignored: the plan chooses it",
                                      "train_on_inputs is ignored: texts are learnt as a whole"}));
  EXPECT_EQ(read("train_on_inputs: true\ndatasets: [{path: a, type: completion}]\n").notes.size(),
            1U);
  EXPECT_REFUSED(read("train_on_inputs: true\ndatasets: [{path: a, type: alpaca}]\n"),
                 "the assistant's answers");
  EXPECT_REFUSED(read("reinit_weights: true\n"), "name the model's config.json alone as model");
  EXPECT_EQ(read("reinit_weights: false\n").notes.size(), 0U);
}

TEST(AxolotlKeys, ChatTemplatesByTheirNames) {
  const auto named = [](const std::string& text) {
    return run_from_yaml(text, "RUN.yaml").chat_template;
  };
  EXPECT_EQ(named("chat_template: chatml\n"), "chatml");
  EXPECT_EQ(named("chat_template: qwen_25\n"), "qwen2.5");
  EXPECT_EQ(named("chat_template: tokenizer_default_fallback_chatml\n"), std::nullopt);
  EXPECT_EQ(named("chat_template_jinja: t.jinja\nchat_template: jinja\n"), "t.jinja");
  EXPECT_REFUSED(named("chat_template_jinja: \"{{ messages }}\"\n"),
                 "write the template into a file");
}

}  // namespace
}  // namespace sluice::planner
