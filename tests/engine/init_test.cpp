#include "engine/init.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/master_weights.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

struct InitialPlanes {
  std::vector<std::uint16_t> high, low;
};

InitialPlanes initialized(const planner::ModelShape& shape, std::size_t unit, std::uint64_t seed) {
  const auto size = static_cast<std::size_t>(planner::unit_tensors(shape, unit).padded_size);
  InitialPlanes planes{std::vector<std::uint16_t>(size, 0xffff),
                       std::vector<std::uint16_t>(size, 0xffff)};
  initialize_unit(shape, unit, seed, planes.high.data(), planes.low.data());
  return planes;
}

TEST(Init, NormsAreOneBiasesZeroMatricesNormal) {
  planner::ModelShape shape = tiny_model("qwen2").job.model;
  shape.hidden = 64;
  shape.intermediate = 512;
  const InitialPlanes planes = initialized(shape, 1, 3);
  for (const auto& tensor : planner::unit_tensors(shape, 1).tensors) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const auto at = static_cast<std::size_t>(tensor.offset + i);
      const double value = join_master({planes.high[at], planes.low[at]});
      sum += value;
      squares += value * value;
    }
    const auto n = static_cast<double>(tensor.size());
    if (tensor.name.ends_with("norm.weight")) {
      EXPECT_EQ(sum, n) << tensor.name;
    } else if (tensor.name.ends_with("bias")) {
      EXPECT_EQ(squares, 0) << tensor.name;
    } else {
      // Mean within 4.5 standard errors, deviation within 4.5 of its own.
      EXPECT_NEAR(sum / n, 0, 4.5 * shape.init_std / std::sqrt(n)) << tensor.name;
      EXPECT_NEAR(std::sqrt(squares / n) / shape.init_std, 1, 4.5 / std::sqrt(2 * n))
          << tensor.name;
    }
  }
}

TEST(Init, AnElementDependsOnSeedTensorAndIndexAlone) {
  const planner::ModelShape shape = tiny_model("llama").job.model;
  const InitialPlanes planes = initialized(shape, 2, 5);
  for (const auto& tensor : planner::unit_tensors(shape, 2).tensors) {
    if (!tensor.decays) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const auto at = static_cast<std::size_t>(tensor.offset + i);
      const double normal = normal_at(5, tensor.name.c_str(), static_cast<std::uint64_t>(i));
      EXPECT_EQ(join_master({planes.high[at], planes.low[at]}),
                static_cast<float>(shape.init_std * normal));
    }
  }
  EXPECT_NE(normal_at(5, "a", 0), normal_at(6, "a", 0));
  EXPECT_NE(normal_at(5, "a", 0), normal_at(5, "b", 0));
  EXPECT_NE(normal_at(5, "a", 0), normal_at(5, "a", 1));
}

TEST(Init, PaddingIsZero) {
  const planner::ModelShape shape = tiny_model("llama").job.model;
  const auto unit = planner::unit_tensors(shape, 1);
  const InitialPlanes planes = initialized(shape, 1, 1);
  std::vector<bool> used(planes.high.size());
  for (const auto& tensor : unit.tensors) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      used[static_cast<std::size_t>(tensor.offset + i)] = true;
    }
  }
  std::size_t padding = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    ++padding;
    EXPECT_EQ(planes.high[i] | planes.low[i], 0);
  }
  EXPECT_GT(padding, 0u);
}

}  // namespace
}  // namespace sluice::engine::testing
