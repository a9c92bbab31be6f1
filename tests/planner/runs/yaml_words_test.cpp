// Tests of RUN.yaml as people write YAML.
#include <gtest/gtest.h>

#include "planner/runs/run_config.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

RunConfig run_of_words(const std::string& text) { return run_from_yaml(text, "RUN.yaml"); }

TEST(YamlWords, TrueAndFalseHaveThreeSpellings) {
  for (const char* word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
    EXPECT_TRUE(run_of_words(std::string("keep_best: ") + word + "\n").keep_best) << word;
    EXPECT_EQ(run_of_words(std::string("bf16: ") + word + "\n").compute, ComputeType::bf16) << word;
    EXPECT_EQ(run_of_words(std::string("packing: ") + word + "\n").packing, Packing::documents)
        << word;
    EXPECT_REFUSED(run_of_words(std::string("fp16: ") + word + "\n"), "fp16: is not done here");
  }
  for (const char* word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}) {
    EXPECT_FALSE(run_of_words(std::string("keep_best: ") + word + "\n").keep_best) << word;
    EXPECT_EQ(run_of_words(std::string("bf16: ") + word + "\n").compute, ComputeType::fp32) << word;
    EXPECT_EQ(run_of_words(std::string("packing: ") + word + "\n").packing, Packing::off) << word;
    EXPECT_EQ(run_of_words(std::string("fp16: ") + word + "\n").notes.size(), 0U) << word;
  }
  EXPECT_REFUSED(run_of_words("keep_best: tRUE\n"), "must be true or false");
  EXPECT_REFUSED(run_of_words("keep_best: y\n"),
                 "must be true or false");  // A word in PyYAML, too.
}

TEST(YamlWords, NothingIsWrittenInManyWays) {
  for (const char* word : {"", "~", "null", "Null", "NULL", "None"}) {
    const std::string value = std::string(": ") + word + "\n";
    EXPECT_EQ(run_of_words("max_samples" + value).max_samples, std::nullopt) << word;
    EXPECT_EQ(run_of_words("template" + value).chat_template, std::nullopt) << word;
    EXPECT_EQ(run_of_words("save_total_limit" + value).keep_last, std::nullopt) << word;
    EXPECT_EQ(run_of_words("fp16" + value + "resume_from_checkpoint" + value).notes.size(), 0U)
        << word;
    EXPECT_EQ(run_of_words("weight_decay" + value).optimizer.weight_decay, 0.01) << word;
    EXPECT_EQ(run_of_words("seed" + value + "bf16" + value).compute, ComputeType::bf16) << word;
    EXPECT_EQ(run_of_words("batch_size" + value + "micro_batch_size" + value).micro_batch, 1)
        << word;
  }
}

TEST(YamlWords, NumbersOfEveryForm) {
  for (const char* rate : {"1e-5", "1E-5", "1.0e-05", "1.e-5", "0.00001", "+1e-5", "\"1e-5\""}) {
    EXPECT_DOUBLE_EQ(run_of_words(std::string("learning_rate: ") + rate + "\n").optimizer.lr, 1e-5)
        << rate;
  }
  EXPECT_EQ(run_of_words("steps: 1_000\n").steps, 1000);
  EXPECT_EQ(run_of_words("steps: +1_000\n").steps, 1000);
  EXPECT_EQ(run_of_words("num_train_epochs: 3.0\n").epochs, 3.0);
  EXPECT_EQ(run_of_words("weight_decay: .5\n").optimizer.weight_decay, 0.5);
  EXPECT_REFUSED(run_of_words("steps: 15,000\n"),
                 "steps: \"15,000\" is not a whole number: write 15000");
  EXPECT_REFUSED(run_of_words("steps: 10k\n"), "write 10000");
  EXPECT_REFUSED(run_of_words("steps: 010\n"), "octal in YAML 1.1");
  EXPECT_REFUSED(run_of_words("steps: 0x10\n"), "is not a whole number");
  EXPECT_REFUSED(run_of_words("steps: 1__0_\n"), "is not a whole number");
  EXPECT_REFUSED(run_of_words("learning_rate: .nan\n"), "is not a number");
  EXPECT_EQ(run_of_words("model: 0815\n").model, "0815") << "a name";
}

TEST(YamlWords, SharesOfTheRun) {
  RunConfig run = run_of_words("save_steps: 0.1\neval_steps: 0.25\nwarmup_steps: 0.05\n");
  EXPECT_EQ(run.schedule.warmup_steps, 0);
  EXPECT_DOUBLE_EQ(run.schedule.warmup_fraction, 0.05);
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(run), "run.yaml")), to_yaml(run));
  run.steps = 85;
  settle_cadences(run, 1000);
  EXPECT_EQ(run.save_every, 9);  // 8.5
  EXPECT_EQ(run.evaluate_every, 22);
  EXPECT_EQ(run_of_words("save_steps: 500.0\n").save_every, 500);
  EXPECT_EQ(run_of_words("warmup_steps: 10\n").schedule.warmup_steps, 10);
  EXPECT_EQ(run_of_words("save_every: 0.5 epochs\n").save_cadence,
            (Cadence{.amount = 0.5, .of = Cadence::Of::pass}));
  EXPECT_EQ(run_of_words("save_strategy: epoch\nsave_steps: 50\n").save_cadence,
            (Cadence{.amount = 1, .of = Cadence::Of::pass}));
  EXPECT_EQ(run_of_words("eval_strategy: 'no'\neval_steps: 50\n").evaluate_every, 0);
  EXPECT_EQ(run_of_words("eval_strategy: no\neval_steps: 50\n").evaluate_every, 0);
  EXPECT_REFUSED(run_of_words("save_steps: 2.5\n"),
                 "must be whole steps, a share of the run below 1");
  EXPECT_REFUSED(run_of_words("save_every: 0 epochs\n"), "must be more than 0");
  // The last word holds.
  set_path(run, "save_every", "7");
  EXPECT_EQ(run.save_every, 7);
}

TEST(YamlWords, ABatchPerDeviceGivesWayToAStatedStep) {
  RunConfig run = run_of_words("per_device_train_batch_size: 2\nbatch_size: 8\n");
  settle(run);
  EXPECT_EQ(run.batch_size, 8);
  RunConfig alone = run_of_words("per_device_train_batch_size: 2\n");
  settle(alone);
  EXPECT_EQ(alone.batch_size, 2);
}

}  // namespace
}  // namespace sluice::planner
