// Models made by transformers, read through a model folder, give the loss that transformers
// computed.
#include "engine/model_files/model_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "engine/model_files/checkpoint.hpp"
#include "engine/model_files/exported_model.hpp"
#include "engine/model_files/safetensors_writer.hpp"
#include "sim/error.hpp"
#include "tests/engine/safetensors.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

/// Weights of a fixture; its moments are the weights plus 1 and plus 2.
class FixtureState : public StateSource {
 public:
  explicit FixtureState(const Fixture& fixture) : fixture_(fixture) {}
  void read(StatePart part, std::size_t /*unit*/, const planner::TensorSpec& tensor,
            std::int64_t first, std::span<float> out) const override {
    const auto& values = fixture_.tensor("weight/" + tensor.name).values;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<float>(values[static_cast<std::size_t>(first) + i]) +
               static_cast<float>(part);
    }
  }

 private:
  const Fixture& fixture_;
};

Fixture transformers_fixture(const std::string& name) {
  return read_fixture(SLUICE_SOURCE_DIR "/tests/fixtures/transformers/" + name + ".safetensors");
}

TinyModel loaded_model(const Fixture& fixture, const StateSource& source) {
  TinyModel model;
  model.job.model = planner::shape_from_config(fixture.metadata.at("config"), "fixture");
  const FixtureTensor& tokens = fixture.tensor("tokens");
  model.job.batch_size = tokens.shape.at(0);
  model.job.seq_len = tokens.shape.at(1);
  model.job.loss_chunk = 5;
  model.job.compute = planner::ComputeType::fp32;
  const FixtureTensor& targets = fixture.tensor("targets");
  model.tokens.assign(tokens.values.begin(), tokens.values.end());
  model.targets.assign(targets.values.begin(), targets.values.end());
  for (std::size_t unit = 0; unit < planner::unit_count(model.job.model); ++unit) {
    const planner::UnitTensors tensors = planner::unit_tensors(model.job.model, unit);
    std::vector<float>& weights =
        model.weights.emplace_back(static_cast<std::size_t>(tensors.padded_size));
    for (const planner::TensorSpec& tensor : tensors.tensors) {
      source.read(StatePart::weights, unit, tensor, 0,
                  std::span(weights).subspan(static_cast<std::size_t>(tensor.offset),
                                             static_cast<std::size_t>(tensor.size())));
    }
  }
  return model;
}

const char* const kFixtures[] = {"llama", "llama_tied", "mistral", "qwen2", "qwen2_tied", "qwen3"};

TEST(ModelFolder, EveryFamilyHasTransformersLossAndGradients) {
  for (const std::string name : kFixtures) {
    SCOPED_TRACE(name);
    const test::ScratchFolder scratch;
    const Fixture fixture = transformers_fixture(name);
    const auto shape = planner::shape_from_config(fixture.metadata.at("config"), name);
    (void)write_state({.folder = scratch.path(), .name = "model", .most = Bytes(4000)}, shape,
                      FixtureState(fixture));
    const auto files = weight_files(scratch.path());
    EXPECT_GT(files.size(), 2u);
    const TinyModel model = loaded_model(fixture, ModelWeights(files, shape));
    const double loss = std::stod(fixture.metadata.at("loss"));
    const StepResult step = run_step(model, planner::Keep::input);
    EXPECT_NEAR(step.loss, loss, 1e-5 * loss);
    for (std::size_t unit = 0; unit < step.gradients.size(); ++unit) {
      for (const auto& tensor : planner::unit_tensors(shape, unit).tensors) {
        EXPECT_LT(
            relative_error(step.gradients[unit].data() + tensor.offset,
                           fixture.tensor("grad/" + tensor.name).values.data(), tensor.size()),
            1e-5)
            << tensor.name;
      }
    }
  }
}

TEST(Checkpoint, WeightsAndMomentsComeBackBitForBit) {
  for (const std::string name : kFixtures) {
    SCOPED_TRACE(name);
    const test::ScratchFolder scratch;
    const Fixture fixture = transformers_fixture(name);
    const FixtureState state(fixture);
    const CheckpointFacts facts{.step = 7,
                                .sequences = 28,
                                .steps = 9,
                                .seed = 3,
                                .job_hash = "job",
                                .numerics_id = "numerics",
                                .data_sha256 = std::string(64, 'a'),
                                .run_yaml = "steps: 9\n",
                                .model = "m\xc3\xbc",
                                .model_folder = std::nullopt};
    const auto folder =
        write_checkpoint(scratch.path(), facts, fixture.metadata.at("config"), state);
    EXPECT_EQ(folder, scratch.path() / "step-7");
    const Checkpoint read(folder);
    EXPECT_EQ(read.facts().sequences, 28);
    EXPECT_EQ(read.facts().model, facts.model);
    EXPECT_EQ(read.facts().run_yaml, facts.run_yaml);
    for (std::size_t unit = 0; unit < planner::unit_count(read.shape()); ++unit) {
      for (const planner::TensorSpec& tensor : planner::unit_tensors(read.shape(), unit).tensors) {
        for (const StatePart part : {StatePart::weights, StatePart::m, StatePart::v}) {
          std::vector<float> found(static_cast<std::size_t>(tensor.size())), expected(found);
          read.read(part, unit, tensor, 0, found);
          state.read(part, unit, tensor, 0, expected);
          EXPECT_EQ(found, expected) << tensor.name;
        }
      }
    }
  }
}

TEST(Checkpoint, OneOfTheSameStepIsReplacedAndOlderOnesStay) {
  const test::ScratchFolder scratch;
  const Fixture fixture = transformers_fixture("llama");
  const std::string& config = fixture.metadata.at("config");
  CheckpointFacts facts{.step = 10,
                        .steps = 20,
                        .job_hash = {},
                        .numerics_id = {},
                        .data_sha256 = {},
                        .run_yaml = {},
                        .model = "first",
                        .model_folder = std::nullopt};
  (void)write_checkpoint(scratch.path(), facts, config, FixtureState(fixture));
  facts.model = "second";
  (void)write_checkpoint(scratch.path(), facts, config, FixtureState(fixture));
  facts.step = 9;
  (void)write_checkpoint(scratch.path(), facts, config, FixtureState(fixture));
  std::filesystem::create_directories(scratch.path() / "step-x");
  std::filesystem::create_directories(scratch.path() / ".step-30.partial");
  EXPECT_EQ(checkpoint_steps(scratch.path()), (std::vector<std::int64_t>{10, 9}));
  const auto newest =
      newest_checkpoint(scratch.path(), [](const std::string& why) { ADD_FAILURE() << why; });
  EXPECT_EQ(newest->facts().model, "second");
  EXPECT_TRUE(checkpoint_steps(scratch.path() / "absent").empty());
}

}  // namespace
}  // namespace sluice::engine::testing
