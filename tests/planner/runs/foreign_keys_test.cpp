// Tests of other programs' training files read as run files.
#include <gtest/gtest.h>

#include "planner/runs/run_config.hpp"
#include "sim/bad_requests.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kLlamaFactoryRun = R"(### model
model_name_or_path: bytes-2m
### method
stage: pt
do_train: true
finetuning_type: full
deepspeed: examples/deepspeed/ds_z3_config.json
### dataset
dataset: identity
template: llama3
packing: true
cutoff_len: 128
preprocessing_num_workers: 16
### output
output_dir: saves/full
logging_steps: 10
save_steps: 500
save_total_limit: 3
### train
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
num_train_epochs: 3.0
max_steps: -1
lr_scheduler_type: cosine
warmup_ratio: 0.1
weight_decay: 0.1
max_grad_norm: 0.5
adam_beta1: 0.8
adam_beta2: 0.95
adam_epsilon: 1.0e-6
bf16: true
seed: 7
### eval
eval_strategy: steps
eval_steps: 50
)";

TEST(ForeignKeys, ALlamaFactoryFileIsARun) {
  RunConfig run = run_from_yaml(kLlamaFactoryRun, "RUN.yaml");
  settle(run);
  EXPECT_EQ(run.model, "bytes-2m");
  EXPECT_EQ(names_of(run.data), "identity");
  EXPECT_EQ(run.chat_template, "llama3");
  EXPECT_EQ(run.packing, Packing::documents);
  EXPECT_EQ(run.seq_len, 128);
  EXPECT_EQ(run.micro_batch, 2);
  EXPECT_EQ(run.batch_size, 8);
  EXPECT_EQ(run.epochs, 3.0);
  EXPECT_EQ(run.out, "saves/full");
  EXPECT_EQ(run.save_every, 500);
  EXPECT_EQ(run.keep_last, 3);
  EXPECT_EQ(run.evaluate_every, 50);
  EXPECT_EQ(run.seed, 7);
  EXPECT_EQ(run.schedule.kind, Schedule::Kind::cosine);
  EXPECT_DOUBLE_EQ(run.schedule.warmup_fraction, 0.1);
  EXPECT_DOUBLE_EQ(run.optimizer.lr, 1e-5);
  EXPECT_DOUBLE_EQ(run.optimizer.beta1, 0.8);
  EXPECT_DOUBLE_EQ(run.optimizer.eps, 1e-6);
  EXPECT_EQ(run.optimizer.clip, 0.5);
  EXPECT_EQ(run.notes.size(), 4U);  // do_train, deepspeed, the workers, logging_steps
  EXPECT_EQ(run.adapter.at("finetuning_type"), "full");
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(run), "run.yaml")), to_yaml(run));
}

TEST(ForeignKeys, StepsHoldOverEpochsWhereverTheyStand) {
  const auto read = [](const std::string& text) { return run_from_yaml(text, "RUN.yaml"); };
  EXPECT_EQ(read("max_steps: 7\nnum_train_epochs: 2\n").epochs, std::nullopt);
  EXPECT_EQ(read("max_steps: 7\nnum_train_epochs: 2\n").steps, 7);
  EXPECT_EQ(read("num_train_epochs: 2\nmax_steps: -1\n").epochs, 2.0);
}

TEST(ForeignKeys, WhatIsNotDoneIsRefusedByName) {
  const auto read = [](const std::string& text) { return run_from_yaml(text, "RUN.yaml"); };
  EXPECT_REFUSED(read("train_on_prompt: true\n"),
                 "line 1: train_on_prompt: is not done here (a key of LLaMA-Factory)");
  EXPECT_REFUSED(read("fp16: true\n"), "write bf16: true");
  EXPECT_REFUSED(read("stage: dpo\n"), "stage: \"dpo\"");
  EXPECT_REFUSED(read("stage: kto\n"), "preference data");
  EXPECT_REFUSED(read("rl: dpo\n"), "rl: \"dpo\" is not done here");
  EXPECT_REFUSED(read("optim: adafactor\n"), "nearest to it adamw_torch");
  EXPECT_REFUSED(read("train_on_inputs: true\n"), "a key of axolotl");
  EXPECT_REFUSED(read("completion_only_loss: False\n"), "the assistant's answers");
  EXPECT_REFUSED(read("unfrozen_parameters: [^lm_head]\n"), "all weights are trained");
  EXPECT_REFUSED(read("checkpointer: {checkpoint_dir: x}\n"), "a key of torchtune");
  EXPECT_REFUSED(read("model: {_component_: torchtune.models.llama3_2.llama3_2_1b}\n"),
                 "model: must be one value");
  EXPECT_EQ(read("fp16: false\nneftune_noise_alpha: 0\ntokens: []\n").notes.size(), 0U);
  EXPECT_REFUSED(read("cutof_len: 8\n"), "did you mean \"cutoff_len\"");
  EXPECT_REFUSED(read("lr: 1e-3\n"), "did you mean \"optimizer.lr\"?");
  EXPECT_REFUSED(read("optimizer: {learning_rate: 1e-3}\n"), "did you mean \"optimizer.lr\"?");
}

TEST(ForeignKeys, AllThatIsRefusedOfAFileIsNamedAtOnce) {
  const std::string file =
      "base_model: bytes-2m\nsequence_len: none of these\ntrain_on_inputs: True\n"
      "datasets: [{path: a.jsonl, type: oasst}]\nseq: 5\noptimizer: lion_8bit\nadapter: qlora\n";
  try {
    (void)run_from_yaml(file, "RUN.yaml");
    FAIL() << "was accepted";
  } catch (const BadRequests& error) {
    const std::vector<std::string>& all = error.messages();
    ASSERT_EQ(all.size(), 6U) << error.what();
    EXPECT_TRUE(all[0].starts_with("RUN.yaml: line 2: seq_len: ")) << all[0];
    EXPECT_TRUE(all[1].starts_with("RUN.yaml: line 3: train_on_inputs: ")) << all[1];
    EXPECT_TRUE(all[2].starts_with("RUN.yaml: line 4: datasets[0].type: \"oasst\"")) << all[2];
    EXPECT_TRUE(all[3].starts_with("RUN.yaml: line 5: seq: unknown key")) << all[3];
    EXPECT_TRUE(all[4].starts_with("RUN.yaml: line 6: optimizer: \"lion_8bit\"")) << all[4];
    EXPECT_TRUE(all[5].starts_with("RUN.yaml: adapter: qlora: ")) << all[5];
    for (const std::string& each : all) EXPECT_EQ(each.find('\n'), std::string::npos);
  }
}

TEST(ForeignKeys, AdaptersGetOneLineWithWhatAllWeightsTake) {
  const std::string file =
      "model_name_or_path: llama-3.1-8b\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n";
  // 8.03e9 parameters at 16 bytes are 119.7 GiB.
  EXPECT_REFUSED(run_from_yaml(file, "RUN.yaml"),
                 "finetuning_type: lora: Sluice trains all weights, and adapters are coming: all "
                 "8.03 G weights of llama-3.1-8b take about 120 GiB");
  EXPECT_REFUSED(run_from_yaml(file, "RUN.yaml"), "`sluice predict RUN.yaml finetuning_type=full`");
  EXPECT_REFUSED(run_from_yaml("lora_r: 8\n", "RUN.yaml"), "lora_r: 8: Sluice trains all weights");
  EXPECT_REFUSED(run_from_yaml("load_in_4bit: true\nadapter: qlora\n", "RUN.yaml"),
                 "adapter=null load_in_4bit=false");
  // What belongs to adapters has no effect where they are off.
  const RunConfig full = run_from_yaml("adapter:\nlora_r: 32\nlora_alpha: 16\n", "RUN.yaml");
  EXPECT_EQ(full.notes,
            (std::vector<std::string>{"lora_alpha, lora_r are ignored: all weights are trained"}));
  EXPECT_EQ(run_from_yaml("load_in_8bit: false\nlora_r:\n", "RUN.yaml").notes.size(), 0U);
}

TEST(ForeignKeys, InterleavedDataSetsAreAMixtureByShares) {
  const auto read = [](const std::string& text) {
    return run_from_yaml("dataset: a,b\n" + text, "RUN.yaml");
  };
  const RunConfig under = read("interleave_probs: 0.7,0.3\nmix_strategy: interleave_under\n");
  EXPECT_EQ(under.mixture, Mixture::first_exhausted);
  EXPECT_EQ(under.data[0].share, 0.7);
  EXPECT_EQ(under.data[1].share, 0.3);
  EXPECT_EQ(under.data[0].weight, std::nullopt);
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(under), "run.yaml")), to_yaml(under));
  EXPECT_EQ(data_sets(under).size(), 2U);
  const RunConfig over = read("mix_strategy: interleave_over\n");
  EXPECT_EQ(over.mixture, Mixture::all_exhausted);
  EXPECT_EQ(over.data[0].share, std::nullopt) << "without probabilities sets take turns";
  for (const char* once : {"mix_strategy: interleave_once\n", "mix_strategy: concat\n"}) {
    EXPECT_EQ(read(once).mixture, Mixture::weights);
  }
  EXPECT_REFUSED(read("interleave_probs: 0.7,0.3\n"), "belongs to mix_strategy: interleave_under");
  EXPECT_REFUSED(read("interleave_probs: 0.7,0.3\nmix_strategy: concat\n"),
                 "state one, or weights");
  const std::string strategy = "mix_strategy: interleave_under\ninterleave_probs: ";
  EXPECT_REFUSED(read(strategy + "0.7,0.7\n"), "sum to 1.40, and probabilities sum to 1");
  EXPECT_REFUSED(read(strategy + "1,0\n"), "each must be more than 0");
  EXPECT_REFUSED(read(strategy + "1\n"), "1 numbers for 2 data sets");
}

TEST(ForeignKeys, LlamaFactorysDefaultTemplateIsItsOwn) {
  const auto named = [](const std::string& text) {
    return run_from_yaml(text, "RUN.yaml").chat_template;
  };
  EXPECT_EQ(named("model_name_or_path: m\ntemplate: default\nstage: sft\n"),
            "llama_factory_default");
  EXPECT_EQ(named("model: m\ntemplate: default\n"), "default") << "the folder's, in a file of ours";
}

TEST(ForeignKeys, SchedulesAreTransformersOwn) {
  const auto read = [](const std::string& text) {
    return run_from_yaml("learning_rate: 1e-3\n" + text, "RUN.yaml").schedule;
  };
  const auto kwargs = [&read](const std::string& type, const std::string& map) {
    return read("lr_scheduler_kwargs: " + map + "\nlr_scheduler_type: " + type + "\n");
  };
  EXPECT_DOUBLE_EQ(kwargs("cosine_with_min_lr", "{min_lr: 1e-4}").final_fraction, 0.1);
  EXPECT_DOUBLE_EQ(kwargs("cosine_with_min_lr", "{min_lr_rate: 0.2}").final_fraction, 0.2);
  EXPECT_EQ(kwargs("cosine_with_restarts", "{num_cycles: 3}").cycles, 3);
  EXPECT_EQ(kwargs("cosine", "{num_cycles: 0.5}").cycles, 1);
  const Schedule polynomial = kwargs("polynomial", "{power: 2.0, lr_end: 1e-5}");
  EXPECT_EQ(polynomial.kind, Schedule::Kind::linear);
  EXPECT_EQ(polynomial.power, 2.0);
  EXPECT_DOUBLE_EQ(polynomial.final_fraction, 0.01);
  EXPECT_DOUBLE_EQ(read("lr_scheduler_type: polynomial\n").final_fraction, 1e-4);  // 1e-7
  EXPECT_EQ(kwargs("inverse_sqrt", "{timescale: 50}").timescale, 50);
  const Schedule wsd = kwargs("warmup_stable_decay", "{num_decay_steps: 20}");
  EXPECT_EQ(wsd.decay_steps, 20);
  EXPECT_EQ(wsd.decay_shape, Schedule::Shape::cosine);
  EXPECT_EQ(kwargs("warmup_stable_decay", "{decay_type: 1-sqrt}").decay_shape,
            Schedule::Shape::sqrt);
  EXPECT_REFUSED(kwargs("cosine", "{num_cycles: 2}"), "cosine_with_restarts");
  EXPECT_REFUSED(kwargs("cosine", "{min_lrr: 1}"), "lr_scheduler_kwargs.min_lrr: unknown key");
  for (const char* known : {"reduce_lr_on_plateau", "greedy", "one_cycle", "rex"}) {
    EXPECT_REFUSED(read(std::string("lr_scheduler_type: ") + known + "\n"), "nearest is");
  }
  EXPECT_REFUSED(read("lr_scheduler_type: cosin\n"), "did you mean \"cosine\"");
}

TEST(ForeignKeys, WhatAFileLeavesOutIsAsItsProgramHasIt) {
  const RunConfig theirs = run_from_yaml("model_name_or_path: bytes-2m\n", "RUN.yaml");
  EXPECT_EQ(theirs.optimizer.weight_decay, 0);
  EXPECT_EQ(theirs.optimizer.lr, 5e-5);
  EXPECT_EQ(theirs.schedule.kind, Schedule::Kind::linear);
  EXPECT_EQ(theirs.epochs, 3.0);
  ASSERT_EQ(theirs.notes.size(), 1U);
  EXPECT_TRUE(theirs.notes.front().starts_with("defaults of LLaMA-Factory hold"))
      << theirs.notes[0];
  const RunConfig unsaid = run_from_yaml("model_name_or_path: bytes-2m\nstage: sft\n", "RUN.yaml");
  EXPECT_TRUE(unsaid.notes.front().starts_with("finetuning_type is not stated")) << unsaid.notes[0];
  const RunConfig trl = run_from_yaml(
      "model_name_or_path: bytes-2m\nmax_length: 64\nweight_decay: 0.1\nmax_steps: 5\n",
      "RUN.yaml");
  EXPECT_EQ(trl.optimizer.lr, 2e-5);
  EXPECT_EQ(trl.optimizer.weight_decay, 0.1);
  EXPECT_EQ(trl.seq_len, 64);
  EXPECT_EQ(trl.epochs, std::nullopt);
  const RunConfig axolotl = run_from_yaml("base_model: bytes-2m\n", "RUN.yaml");
  EXPECT_EQ(axolotl.schedule.kind, Schedule::Kind::cosine);
  EXPECT_EQ(axolotl.seq_len, 512);
  // A file of ours keeps our defaults, whatever names it borrows.
  const RunConfig ours = run_from_yaml("model: bytes-2m\nlearning_rate: 1e-3\n", "RUN.yaml");
  EXPECT_EQ(ours.optimizer.weight_decay, RunConfig().optimizer.weight_decay);
  EXPECT_EQ(ours.schedule.kind, Schedule::Kind::constant);
}

}  // namespace
}  // namespace sluice::planner
