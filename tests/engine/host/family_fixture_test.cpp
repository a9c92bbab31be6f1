// Tiny models of families against transformers: fixtures that
// tests/fixtures/make_family_fixtures.py makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/datasets/token_source.hpp"
#include "engine/model_files/published_tensors.hpp"
#include "tests/engine/checkpoint_tensor.hpp"
#include "tests/engine/piece_by_piece.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

using planner::Keep;

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/fixtures/families")) {
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

struct Family {
  Fixture fixture;
  TinyModel model;

  explicit Family(const std::string& name)
      : fixture(
            read_fixture(SLUICE_SOURCE_DIR "/tests/fixtures/families/" + name + ".safetensors")) {
    model.job.model = planner::shape_from_config(fixture.metadata.at("config"), name);
    const FixtureTensor& tokens = fixture.tensor("tokens");
    model.job.batch_size = static_cast<std::int64_t>(tokens.shape.at(0));
    model.job.seq_len = static_cast<std::int64_t>(tokens.shape.at(1));
    model.job.micro_batch = 1;
    model.job.loss_chunk = 5;
    model.job.compute = planner::ComputeType::fp32;
    const FixtureTensor& targets = fixture.tensor("targets");
    model.tokens.assign(tokens.values.begin(), tokens.values.end());
    model.targets.assign(targets.values.begin(), targets.values.end());
    for (std::size_t unit = 0; unit < planner::unit_count(model.job.model); ++unit) {
      const auto tensors = planner::unit_tensors(model.job.model, unit);
      std::vector<float> weights(static_cast<std::size_t>(tensors.padded_size), 0.0F);
      for (const auto& tensor : tensors.tensors) {
        const std::vector<double> values = from_checkpoint(fixture, "weight/", tensor);
        std::ranges::transform(values, weights.begin() + tensor.offset,
                               [](double value) { return static_cast<float>(value); });
      }
      model.weights.push_back(std::move(weights));
    }
  }
};

class FamilyFixtures : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Reference, FamilyFixtures, ::testing::ValuesIn(family_names()),
                         [](const auto& info) { return info.param; });

/// Relative error that a gradient may have: more for those that pass through exponents of sums.
double bound_of(planner::TensorRole role) {
  using enum planner::TensorRole;
  return role == delta_log_rate || role == delta_time_bias ? 1e-4 : 1e-5;
}

TEST_P(FamilyFixtures, LossLogitsAndEveryGradientAgreeWithinAHundredThousandth) {
  const Family family(GetParam());
  const TinyModel& model = family.model;
  const StepResult step = run_step(model, Keep::input);
  const double loss = std::stod(family.fixture.metadata.at("loss"));
  EXPECT_NEAR(step.loss, loss, 1e-5 * loss);
  const std::vector<double>& logits = family.fixture.tensor("logits").values;
  ASSERT_EQ(step.logits.size(), logits.size());
  EXPECT_LT(relative_error(step.logits.data(), logits.data(), std::ssize(logits)), 1e-5);
  for (std::size_t unit = 0; unit < step.gradients.size(); ++unit) {
    for (const auto& tensor : planner::unit_tensors(model.job.model, unit).tensors) {
      const float* found = step.gradients[unit].data() + tensor.offset;
      if (tensor.frozen) {
        EXPECT_EQ(std::count(found, found + tensor.size(), 0.0F), tensor.size()) << tensor.name;
        continue;
      }
      const std::vector<double> expected = from_checkpoint(family.fixture, "grad/", tensor);
      EXPECT_LT(relative_error(found, expected.data(), tensor.size()), bound_of(tensor.role))
          << tensor.name;
    }
  }
}

TEST_P(FamilyFixtures, CoverEveryElementOfTheirCheckpoint) {
  const Family family(GetParam());
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : family.fixture.tensors) {
    if (name.starts_with("weight/")) elements += std::ssize(tensor.values);
  }
  EXPECT_EQ(planner::parameter_count(family.model.job.model), elements);
}

TEST_P(FamilyFixtures, ArePublishedAsTheirCheckpointHasThem) {
  const Family family(GetParam());
  for (const PublishedTensor& published :
       published_tensors(family.model.job.model, StackOrder::published)) {
    const FixtureTensor& stored = family.fixture.tensor("weight/" + published.name);
    EXPECT_TRUE(std::ranges::equal(published.shape, stored.shape)) << published.name;
    std::vector<double> found(stored.values.size(), 0.0);
    for (const PublishedPart& part : published.parts) {
      const MemorySizes sizes = memory_sizes(part.tensor);
      const float* from = family.model.weights[part.unit].data() + part.tensor.offset;
      for (std::int64_t i = 0; i < part.tensor.size(); ++i) {
        const std::int64_t at = part.map.position(i / sizes.cols, i % sizes.cols);
        found.at(static_cast<std::size_t>(at)) = from[i];
      }
    }
    EXPECT_EQ(found, stored.values) << published.name;
  }
}

TEST_P(FamilyFixtures, GreedyTextOverKeptKeysIsThatOfTransformers) {
  const Family family(GetParam());
  const std::vector<double>& greedy = family.fixture.tensor("greedy").values;
  const std::int64_t length = family.model.job.seq_len - std::ssize(greedy);
  const auto tokens = family.model.tokens.begin();
  EXPECT_EQ(PieceByPiece(family.model, 1).greedy({tokens, tokens + length}, std::ssize(greedy)),
            std::vector<std::int32_t>(greedy.begin(), greedy.end()));
}

TEST_P(FamilyFixtures, PackedDocumentsAreThoseAlone) {
  TinyModel packed = Family(GetParam()).model;
  packed.job.attention = planner::AttentionSpan::document;
  TinyModel alone = packed;
  // Each sequence holds two documents; alone, each has a sequence whose end is padding.
  constexpr std::int64_t kFirst = 5;
  const std::int64_t length = packed.job.seq_len;
  alone.job.batch_size = 2 * packed.job.batch_size;
  alone.tokens.assign(static_cast<std::size_t>(alone.job.tokens()), 0);
  alone.targets.assign(alone.tokens.size(), kPaddingTarget);
  for (std::int64_t at = 0; at < packed.job.tokens(); ++at) {
    const std::int64_t place = at % length;
    const bool second = place >= kFirst;
    const std::int64_t sequence = 2 * (at / length) + (second ? 1 : 0);
    const auto to = static_cast<std::size_t>(sequence * length + place - (second ? kFirst : 0));
    const auto from = static_cast<std::size_t>(at);
    alone.tokens[to] = packed.tokens[from];
    alone.targets[to] = packed.targets[from];
    const bool begins = place == 0 || place == kFirst;
    if (begins) packed.tokens[from] = ~packed.tokens[from];
    if (begins) alone.tokens[to] = ~alone.tokens[to];
  }
  const StepResult found = run_step(packed, Keep::input);
  const StepResult expected = run_step(alone, Keep::input);
  EXPECT_NEAR(found.loss, 2 * expected.loss, 1e-6 * found.loss);
  for (std::size_t unit = 0; unit < found.gradients.size(); ++unit) {
    std::vector<double> twice;
    for (const float each : expected.gradients[unit]) twice.push_back(2 * double{each});
    EXPECT_LT(relative_error(found.gradients[unit].data(), twice.data(), std::ssize(twice)), 1e-5)
        << "unit " << unit;
  }
}

TEST_P(FamilyFixtures, WhatIsKeptChangesNoBit) {
  for (const auto compute : {planner::ComputeType::fp32, planner::ComputeType::bf16}) {
    TinyModel model = Family(GetParam()).model;
    model.job.compute = compute;
    const StepResult all = run_step(model, Keep::all);
    EXPECT_TRUE(all.guards_intact);
    for (const Keep keep : {Keep::input, Keep::selective}) {
      const StepResult other = run_step(model, keep);
      EXPECT_EQ(all.loss, other.loss);
      EXPECT_EQ(all.gradients, other.gradients) << to_string(keep);
    }
  }
}

}  // namespace
}  // namespace sluice::engine::testing
