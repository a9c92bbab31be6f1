// Tests of experts that lie as one tensor of each block.
#include "engine/model_files/expert_stacks.hpp"

#include <gtest/gtest.h>

namespace sluice::engine::testing {
namespace {

/// A block of 3 experts of width 2 with 4 hidden elements.
planner::ModelShape mixture(const std::string& family, std::int64_t width = 2) {
  planner::ModelShape shape;
  shape.family = family == "mixtral" ? planner::Family::mixtral : planner::Family::qwen3_moe;
  if (family == "mixtral") shape.names.experts = planner::kMixtralExperts;
  shape.layers = 1;
  shape.hidden = 4;
  shape.experts = planner::Experts{.count = 3, .active = 1, .intermediate = width};
  shape.intermediate = width;
  return shape;
}

/// Tensors of the given shapes, in no file.
struct Entries {
  TensorPlaces places;
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    places[name] = {.stored = {.name = name, .shape = std::move(shape)}};
  }
};

TEST(ExpertStacks, GiveEveryExpertItsRows) {
  Entries files;
  files.add("model.layers.0.mlp.experts.gate_up_proj", {3, 4, 4});
  files.add("model.layers.0.mlp.experts.down_proj", {3, 4, 2});
  unstack_experts(files.places, mixture("qwen3_moe"));
  ASSERT_EQ(files.places.size(), 9u);
  const TensorPlace& up = files.places.at("model.layers.0.mlp.experts.2.up_proj.weight");
  // Expert 2 begins after 2 x 4 x 4 elements, its ups after 2 rows of 4.
  EXPECT_EQ(up.map.position(0, 0), 2 * 16 + 2 * 4);
  EXPECT_EQ(up.map.row_step, 4);
  EXPECT_EQ(up.map.col_step, 1);
  EXPECT_TRUE(up.part);
  EXPECT_EQ(files.places.at("model.layers.0.mlp.experts.1.down_proj.weight").map.position(0, 0), 8);
}

TEST(ExpertStacks, AreTurnedWhereTheOtherTensorsSayso) {
  // gate_up_proj [3, 4, 4] fits both orders of axes; down_proj [3, 2, 4] fits one.
  Entries files;
  files.add("model.layers.0.mlp.experts.gate_up_proj", {3, 4, 4});
  files.add("model.layers.0.mlp.experts.down_proj", {3, 2, 4});
  unstack_experts(files.places, mixture("qwen3_moe"));
  const TensorPlace& up = files.places.at("model.layers.0.mlp.experts.2.up_proj.weight");
  EXPECT_EQ(up.map.position(0, 0), 2 * 16 + 2);
  EXPECT_EQ(up.map.row_step, 1);
  EXPECT_EQ(up.map.col_step, 4);
}

TEST(ExpertStacks, OfMixtralHaveItsNamesAndItsRouter) {
  Entries files;
  files.add("model.layers.0.mlp.experts.gate_up_proj", {3, 10, 4});
  files.add("model.layers.0.mlp.experts.down_proj", {3, 4, 5});
  files.add("model.layers.0.mlp.gate.weight", {3, 4});
  unstack_experts(files.places, mixture("mixtral", 5));
  EXPECT_TRUE(files.places.contains("model.layers.0.block_sparse_moe.gate.weight"));
  EXPECT_EQ(
      files.places.at("model.layers.0.block_sparse_moe.experts.1.w3.weight").map.position(0, 0),
      40 + 20);
  EXPECT_FALSE(files.places.contains("model.layers.0.mlp.gate.weight"));
}

TEST(ExpertStacks, LeaveSingleExpertsAndDenseModelsAlone) {
  Entries files;
  files.add("model.layers.0.mlp.experts.0.up_proj.weight", {2, 4});
  unstack_experts(files.places, mixture("qwen3_moe"));
  EXPECT_FALSE(files.places.at("model.layers.0.mlp.experts.0.up_proj.weight").part);
  planner::ModelShape dense = mixture("qwen3_moe");
  dense.experts.reset();
  files.add("model.layers.0.mlp.experts.down_proj", {3, 4, 2});
  unstack_experts(files.places, dense);
  EXPECT_TRUE(files.places.contains("model.layers.0.mlp.experts.down_proj"));
}

}  // namespace
}  // namespace sluice::engine::testing
