// Tests of checkpoints whose tensors lie otherwise than in memory: fused, stacked, permuted,
// quantised, or beside those of other parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>

#include "engine/model_files/export_tensors.hpp"
#include "engine/model_files/model_weights.hpp"
#include "engine/model_files/safetensors_writer.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/engine/stored_files.hpp"

namespace sluice::engine::testing {
namespace {

using std::filesystem::path;

/// State whose values are whole numbers that bf16 has and that differ from place to place.
class CountedState : public StateSource {
 public:
  static float value(const std::string& name, std::int64_t index) {
    std::int64_t sum = 0;
    for (const char c : name) sum = (sum * 31 + c) % 8191;
    return static_cast<float>((sum + index * 37) % 251 - 125);
  }
  void read(StatePart /*part*/, std::size_t /*unit*/, const planner::TensorSpec& tensor,
            std::int64_t first, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = value(tensor.name, first + static_cast<std::int64_t>(i));
    }
  }
};

planner::ModelShape small_shape() {
  planner::ModelShape shape;
  shape.layers = 2;
  shape.hidden = 32;
  shape.intermediate = 64;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 8;
  shape.vocab = 40;
  return shape;
}

planner::ModelShape fused_shape() {
  planner::ModelShape shape = small_shape();
  shape.names.fused_qkv = "self_attn.qkv_proj";
  shape.names.fused_gate_up = "mlp.gate_up_proj";
  return shape;
}

planner::ModelShape paired_shape() {
  planner::ModelShape shape = small_shape();
  shape.qkv_bias = true;
  shape.rotary.front().interleaved = true;
  shape.rotary.front().rotated = 4;
  return shape;
}

/// Experts as gpt_oss stacks them.
planner::ModelShape stacked_shape() {
  planner::ModelShape shape = small_shape();
  shape.mlp_bias = true;
  shape.intermediate = 64;
  shape.experts =
      planner::Experts{.count = 3, .active = 2, .intermediate = 32, .router_bias = true};
  shape.names.experts.router = "mlp.router";
  shape.names.experts.stacked = true;
  return shape;
}

/// Writes an export of CountedState and returns the file.
WrittenTensors write_export(const path& folder, const planner::ModelShape& shape,
                            const ExportOptions& options,
                            const std::optional<FolderTensors>& origin = std::nullopt) {
  return write_tensors({.folder = folder, .name = "model", .most = Bytes(1 << 30)},
                       export_tensors(shape, origin, options), CountedState());
}

void expect_state(const ModelWeights& weights, const planner::ModelShape& shape) {
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      std::vector<float> found(static_cast<std::size_t>(tensor.size())), expected(found);
      weights.read(StatePart::weights, unit, tensor, 0, found);
      CountedState().read(StatePart::weights, unit, tensor, 0, expected);
      ASSERT_EQ(found, expected) << tensor.name;
      // A piece from the middle, whose ends lie within rows.
      const std::int64_t first = tensor.size() / 3;
      std::vector<float> piece(static_cast<std::size_t>(tensor.size() / 2));
      weights.read(StatePart::weights, unit, tensor, first, piece);
      expected.erase(expected.begin(), expected.begin() + first);
      expected.resize(piece.size());
      ASSERT_EQ(piece, expected) << tensor.name;
    }
  }
}

float element(const SafetensorsFile& file, const std::string& name, std::int64_t index) {
  float value = 0;
  plain_tensor(name, file, *file.find(name)).decode(index, {&value, 1});
  return value;
}

const std::string kLayer = "model.layers.1.";

TEST(PublishedCheckpoints, HaveFusedMatricesAsRowsOfOne) {
  const test::ScratchFolder scratch;
  const planner::ModelShape shape = fused_shape();
  (void)write_export(scratch.path(), shape, {.out = {}});
  const SafetensorsFile file(scratch.path() / "model.safetensors");
  ASSERT_NE(file.find(kLayer + "self_attn.qkv_proj.weight"), nullptr);
  EXPECT_EQ(file.find(kLayer + "self_attn.q_proj.weight"), nullptr);
  EXPECT_EQ(file.find(kLayer + "self_attn.qkv_proj.weight")->shape,
            (std::vector<std::int64_t>{32 + 16 + 16, 32}));
  // Row 1 of v follows 32 rows of q and 16 of k; row 2 of up follows 64 of gate.
  EXPECT_EQ(element(file, kLayer + "self_attn.qkv_proj.weight", 49 * 32 + 5),
            CountedState::value(kLayer + "self_attn.v_proj.weight", 32 + 5));
  EXPECT_EQ(element(file, kLayer + "mlp.gate_up_proj.weight", 66 * 32 + 7),
            CountedState::value(kLayer + "mlp.up_proj.weight", 2 * 32 + 7));
  expect_state(ModelWeights({file.path()}, shape), shape);
}

/// One gated delta net and one layer of attention, with experts.
planner::ModelShape hybrid_shape() {
  planner::ModelShape shape = small_shape();
  shape.attention_gate = true;
  shape.delta_net =
      planner::DeltaNet{.key_heads = 2, .value_heads = 4, .key_dim = 4, .value_dim = 3};
  shape.kinds = {{.rotary = std::nullopt, .mixer = planner::Mixer::gated_delta_net}, {}};
  shape.kind_of_layer = {0, 1};
  shape.names.fused_delta = "linear_attn.in_proj_qkvz";
  shape.names.fused_delta_rates = "linear_attn.in_proj_ba";
  shape.intermediate = 64;
  shape.experts =
      planner::Experts{.count = 3, .active = 2, .intermediate = 32, .correction_bias = true};
  shape.names.experts.correction_row = true;
  return shape;
}

TEST(PublishedCheckpoints, HaveDeltaNetsHeadByHead) {
  const test::ScratchFolder scratch;
  const planner::ModelShape shape = hybrid_shape();
  (void)write_export(scratch.path(), shape, {.out = {}});
  const SafetensorsFile file(scratch.path() / "model.safetensors");
  const std::string layer = "model.layers.0.", net = layer + "linear_attn.";
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(file.find(net + "in_proj_qkvz.weight")->shape, (Shape{2 * 8 + 2 * 12, 32}));
  EXPECT_EQ(file.find(net + "in_proj_ba.weight")->shape, (Shape{8, 32}));
  EXPECT_EQ(file.find(net + "conv1d.weight")->shape, (Shape{2 * 8 + 12, 1, 4}));
  EXPECT_EQ(file.find(net + "A_log")->shape, Shape{4});
  EXPECT_EQ(file.find(layer + "mlp.gate.e_score_correction_bias")->shape, (Shape{1, 3}));
  // A key head has 4 rows of q, 4 of k, 6 of v and 6 of z: row 7 of v is row 1 of the second's.
  EXPECT_EQ(element(file, net + "in_proj_qkvz.weight", (20 + 8 + 1) * 32 + 5),
            CountedState::value(net + "v_proj.weight", 7 * 32 + 5));
  // Rates of two value heads, then their decays: decay 2 is the third row of the second key head.
  EXPECT_EQ(element(file, net + "in_proj_ba.weight", (4 + 2) * 32 + 9),
            CountedState::value(net + "in_proj_a.weight", 2 * 32 + 9));
  expect_state(ModelWeights({file.path()}, shape), shape);
}

TEST(PublishedCheckpoints, MayHaveFusedMatricesApart) {
  const test::ScratchFolder scratch;
  (void)write_export(scratch.path(), small_shape(), {.out = {}});
  expect_state(ModelWeights({scratch.path() / "model.safetensors"}, fused_shape()), fused_shape());
}

TEST(PublishedCheckpoints, HavePairsOfRotatedRowsSideBySide) {
  const test::ScratchFolder scratch;
  const planner::ModelShape shape = paired_shape();
  (void)write_export(scratch.path(), shape, {.out = {}});
  const SafetensorsFile file(scratch.path() / "model.safetensors");
  const std::string q = kLayer + "self_attn.q_proj.weight", bias = kLayer + "self_attn.q_proj.bias";
  // The first 4 of each head's 8 rows turn: file rows 0 1 2 3 are memory rows 0 2 1 3; others stay.
  const std::vector<std::int64_t> memory_row = {0, 2, 1, 3, 4, 5, 6, 7};
  for (std::int64_t row = 0; row < 16; ++row) {
    const std::int64_t from = row / 8 * 8 + memory_row[static_cast<std::size_t>(row % 8)];
    EXPECT_EQ(element(file, q, row * 32 + 3), CountedState::value(q, from * 32 + 3)) << row;
    EXPECT_EQ(element(file, bias, row), CountedState::value(bias, from)) << row;
  }
  EXPECT_EQ(element(file, kLayer + "self_attn.v_proj.weight", 32),
            CountedState::value(kLayer + "self_attn.v_proj.weight", 32));
  expect_state(ModelWeights({file.path()}, shape), shape);
}

TEST(PublishedCheckpoints, HaveStackedExpertsWithColumnsInTurns) {
  const test::ScratchFolder scratch;
  const planner::ModelShape shape = stacked_shape();
  (void)write_export(scratch.path(), shape, {.out = {}});
  const SafetensorsFile file(scratch.path() / "model.safetensors");
  const std::string stack = kLayer + "mlp.experts.gate_up_proj";
  ASSERT_NE(file.find(stack), nullptr);
  EXPECT_EQ(file.find(stack)->shape, (std::vector<std::int64_t>{3, 32, 64}));
  // Expert 2, hidden element 5, column 2 x 7 + 1: up's element [7, 5].
  EXPECT_EQ(element(file, stack, (2 * 32 + 5) * 64 + 15),
            CountedState::value(kLayer + "mlp.experts.2.up_proj.weight", 7 * 32 + 5));
  EXPECT_EQ(element(file, stack + "_bias", 64 + 14),
            CountedState::value(kLayer + "mlp.experts.1.gate_proj.bias", 7));
  EXPECT_EQ(element(file, kLayer + "mlp.experts.down_proj", (32 + 5) * 32 + 9),
            CountedState::value(kLayer + "mlp.experts.1.down_proj.weight", 9 * 32 + 5));
  expect_state(ModelWeights({file.path()}, shape), shape);
}

TEST(PublishedCheckpoints, HaveExpertsInMxfp4WhereAskedFor) {
  const test::ScratchFolder scratch;
  const planner::ModelShape shape = stacked_shape();
  const WrittenTensors written =
      write_export(scratch.path(), shape, {.out = {}, .experts = ExpertNumbers::mxfp4});
  EXPECT_GT(written.mxfp4.relative(), 0.02);
  EXPECT_LT(written.mxfp4.relative(), 0.2);
  const SafetensorsFile file(scratch.path() / "model.safetensors");
  const std::string stack = kLayer + "mlp.experts.gate_up_proj";
  EXPECT_EQ(file.find(stack), nullptr);
  EXPECT_EQ(file.find(stack + "_blocks")->shape, (std::vector<std::int64_t>{3, 64, 1, 16}));
  EXPECT_EQ(file.find(stack + "_scales")->shape, (std::vector<std::int64_t>{3, 64, 1}));
  EXPECT_EQ(file.find(stack + "_bias")->dtype, "BF16");
  const ModelWeights weights({file.path()}, shape);
  EXPECT_EQ(weights.types(), (std::set<std::string>{"MXFP4", "bf16"}));
  // What is read is the state rounded row by row, and rounding that again changes nothing.
  const auto units = planner::unit_tensors(shape, 1).tensors;
  for (const planner::TensorSpec& tensor : units) {
    const auto size = static_cast<std::size_t>(tensor.size());
    std::vector<float> found(size), expected(size);
    weights.read(StatePart::weights, 1, tensor, 0, found);
    CountedState().read(StatePart::weights, 1, tensor, 0, expected);
    if (tensor.name.find("experts") != std::string::npos && tensor.rows > 1) {
      std::vector<std::byte> blocks(size / 2), scales(size / 32);
      (void)encode_mxfp4(expected, blocks.data(), scales.data());
      decode_mxfp4(blocks.data(), scales.data(), 0, expected);
    }
    EXPECT_EQ(found, expected) << tensor.name;
  }
  const test::ScratchFolder again;
  const WrittenTensors second = write_tensors(
      {.folder = again.path(), .name = "model", .most = Bytes(1 << 30)},
      export_tensors(shape, std::nullopt, {.out = {}, .experts = ExpertNumbers::mxfp4}), weights);
  EXPECT_EQ(second.mxfp4.relative(), 0);
  EXPECT_THROW((void)export_tensors(small_shape(), std::nullopt,
                                    {.out = {}, .experts = ExpertNumbers::mxfp4}),
               BadRequest);
}

/// Tensors of an export, by name.
std::map<std::string, RawTensor> raw_tensors(const SafetensorsFile& file) {
  std::map<std::string, RawTensor> raw;
  for (const auto& [name, entry] : file.header().tensors) {
    const auto bytes = file.bytes(entry);
    raw[name] = {entry.dtype, entry.shape,
                 std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  }
  return raw;
}

std::map<std::string, RawTensor> small_tensors() {
  const test::ScratchFolder scratch;
  (void)write_export(scratch.path(), small_shape(), {.out = {}});
  return raw_tensors(SafetensorsFile(scratch.path() / "model.safetensors"));
}

TEST(PublishedCheckpoints, InFp8AreReadWithTheFactorsOfBlocks) {
  const test::ScratchFolder scratch;
  auto tensors = small_tensors();
  const std::string name = kLayer + "mlp.up_proj.weight";
  tensors[name] = {"F8_E4M3", {64, 32}, std::string(64 * 32, '\x40')};  // 2.
  // Blocks of 48 x 20: 2 x 2 factors.
  tensors[name + "_scale_inv"] = {"F32", {2, 2}, bytes_of(std::vector<float>{1, 3, 5, 7})};
  write_safetensors(scratch.path() / "model.safetensors", tensors);
  std::ofstream(scratch.path() / "config.json")
      << R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [48, 20]}})";
  const ModelWeights weights({scratch.path() / "model.safetensors"}, small_shape());
  const auto block = planner::unit_tensors(small_shape(), 2).tensors;
  const auto up = std::ranges::find(block, name, &planner::TensorSpec::name);
  std::vector<float> found(64 * 32);
  weights.read(StatePart::weights, 2, *up, 0, found);
  EXPECT_EQ(found[0], 2);
  EXPECT_EQ(found[31], 6);
  EXPECT_EQ(found[48 * 32], 10);
  EXPECT_EQ(found[63 * 32 + 20], 14);
  EXPECT_EQ(weights.types(), (std::set<std::string>{"FP8", "bf16"}));
}

TEST(PublishedCheckpoints, AreRefusedByNameWhereScalesDoNotFit) {
  const test::ScratchFolder scratch;
  const auto refusal = [&](const std::function<void(std::map<std::string, RawTensor>&)>& change) {
    auto tensors = small_tensors();
    change(tensors);
    write_safetensors(scratch.path() / "model.safetensors", tensors);
    try {
      const ModelWeights weights({scratch.path() / "model.safetensors"}, small_shape());
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string name = kLayer + "mlp.up_proj.weight";
  const RawTensor fp8{"F8_E4M3", {64, 32}, std::string(64 * 32, '\x40')};
  EXPECT_NE(refusal([&](auto& t) { t[name] = fp8; }).find("weight_scale_inv is missing"),
            std::string::npos);
  const std::string shape = refusal([&](auto& t) {
    t[name] = fp8;
    t[name + "_scale_inv"] = {"F32", {2, 2}, std::string(16, '\0')};
  });
  EXPECT_NE(shape.find("blocks of 128 x 128 make it [1, 1]"), std::string::npos) << shape;
  const std::string lone = refusal([&](auto& t) {
    t[kLayer + "mlp.experts.down_proj_blocks"] = {"U8", {1, 1, 16}, std::string(16, '\0')};
  });
  EXPECT_NE(lone.find("down_proj_scales is missing"), std::string::npos) << lone;
}

TEST(PublishedCheckpoints, OfWrappersAreReadAsTheirTextModelAndCarryTheRest) {
  const test::ScratchFolder scratch, out;
  std::map<std::string, RawTensor> tensors;
  for (auto& [name, tensor] : small_tensors()) tensors["language_model." + name] = tensor;
  const RawTensor odd{"F16", {1, 3}, "abcdef"};
  tensors["vision_tower.probe"] = odd;
  tensors["multi_modal_projector.counts"] = {"I64", {1}, "12345678"};
  write_safetensors(scratch.path() / "model.safetensors", tensors);
  const ModelWeights weights({scratch.path() / "model.safetensors"}, small_shape());
  expect_state(weights, small_shape());
  const std::string said = weights.not_trained().value_or("");
  EXPECT_NE(said.find("2 tensors (14 B: multi_modal_projector, vision_tower)"), std::string::npos)
      << said;
  // An export has the same names, shapes and bytes.
  (void)write_tensors(
      {.folder = out.path(), .name = "model", .most = Bytes(1 << 30)},
      export_tensors(small_shape(),
                     open_tensors({scratch.path() / "model.safetensors"}, small_shape()),
                     {.out = {}}),
      weights);
  const auto exported = raw_tensors(SafetensorsFile(out.path() / "model.safetensors"));
  ASSERT_EQ(exported.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(exported.contains(name)) << name;
    EXPECT_EQ(exported.at(name).dtype, tensor.dtype) << name;
    EXPECT_EQ(exported.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(exported.at(name).bytes, tensor.bytes) << name;
  }
}

TEST(PublishedCheckpoints, CarryTheLayersThatConfigJsonSaysPredictFurtherTokens) {
  const test::ScratchFolder scratch;
  auto tensors = small_tensors();
  tensors["model.layers.2.eh_proj.weight"] = {"F32", {1}, "abcd"};
  write_safetensors(scratch.path() / "model.safetensors", tensors);
  EXPECT_THROW(ModelWeights({scratch.path() / "model.safetensors"}, small_shape()), BadRequest);
  std::ofstream(scratch.path() / "config.json") << R"({"num_nextn_predict_layers": 1})";
  const ModelWeights weights({scratch.path() / "model.safetensors"}, small_shape());
  EXPECT_EQ(weights.tensors().carried.size(), 1u);
  expect_state(weights, small_shape());
}

}  // namespace
}  // namespace sluice::engine::testing
