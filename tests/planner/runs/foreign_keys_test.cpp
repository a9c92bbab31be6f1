// Tests of other programs' training files read as run files.
#include <gtest/gtest.h>

#include "planner/runs/run_config.hpp"
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
  EXPECT_REFUSED(read("finetuning_type: lora\n"), "line 1: finetuning_type: \"lora\"");
  EXPECT_REFUSED(read("lora_rank: 8\n"), "lora_rank: is not done here");
  EXPECT_REFUSED(read("fp16: true\n"), "fp16");
  EXPECT_REFUSED(read("stage: dpo\n"), "stage: \"dpo\"");
  EXPECT_REFUSED(read("optim: adafactor\n"), "optim");
  EXPECT_REFUSED(read("lr_scheduler_type: polynomial\n"), "warmup_stable_decay");
  EXPECT_EQ(read("fp16: false\nneftune_noise_alpha: 0\n").notes.size(), 0U);
  EXPECT_REFUSED(read("cutof_len: 8\n"), "did you mean \"cutoff_len\"");
}

}  // namespace
}  // namespace sluice::planner
