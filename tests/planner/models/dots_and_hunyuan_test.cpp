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

}  // namespace
}  // namespace sluice::planner
