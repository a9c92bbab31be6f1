// Tests of what the readers of dots1 and hunyuan_v1_dense make of a config.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "planner/models/job.hpp"
#include "planner/models/support.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/small_config.hpp"

namespace sluice::planner {
namespace {

using test::read;

TEST(Dots, HasDenseLayersFirstAndWindowsLast) {
  const ModelShape shape = read("dots1", R"("first_k_dense_replace": 1, "max_window_layers": 1,
      "sliding_window": 32, "moe_intermediate_size": 24)");
  EXPECT_EQ(shape.kinds, (std::vector<LayerKind>{{.dense_intermediate = 96}, {.window = 32}}));
  EXPECT_EQ(shape.kind_of_layer, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(shape.experts->score, RouterScore::sigmoid);
  EXPECT_EQ(shape.experts->shared_intermediate, 48) << "two of 24";
}

constexpr const char* kStretched = R"("rope_theta": 10000, "rope_scaling":
    {"type": "dynamic", "alpha": 1000.0, "beta_fast": 32, "factor": 1.0, "mscale": 1.0})";

TEST(Hunyuan, TurnsByABaseThatAlphaStretches) {
  const ModelShape shape = read("hunyuan_v1_dense", kStretched);
  EXPECT_EQ(shape.rotary.front(), RotaryTable{.theta = 10000 * std::pow(1000.0, 16.0 / 14.0)});
  EXPECT_EQ(shape_from_config(config_from_shape(shape), "config.json"), shape);
  EXPECT_REFUSED(read("hunyuan_v1_dense", R"("rope_scaling": {"type": "dynamic", "factor": 2})"),
                 "\"dynamic\" is not supported");
}

TEST(Hunyuan, NormsOfRotatedQueriesAreAPartThatNoBackendComputes) {
  const ModelShape shape = read("hunyuan_v1_dense");
  const UnitTensors block = unit_tensors(shape, 1);
  EXPECT_EQ(std::ranges::find(block.tensors, TensorRole::q_norm, &TensorSpec::role)->name,
            "model.layers.0.self_attn.query_layernorm.weight");
  EXPECT_EQ(unsupported_by_host(shape), "norms of q and k behind their rotation");
  EXPECT_REFUSED((require_computed_by_cuda(shape), 0),
                 "hunyuan_v1_dense has norms of q and k behind their rotation, which the cuda "
                 "backend does not compute");
}

TEST(Hunyuan, TheOrderOfNormAndRotationIsInTheHashOfAJob) {
  Job behind;
  behind.model = read("hunyuan_v1_dense");
  Job before = behind;
  before.model.norm_behind_rotation = false;
  EXPECT_NE(job_hash(before), job_hash(behind));
}

}  // namespace
}  // namespace sluice::planner
