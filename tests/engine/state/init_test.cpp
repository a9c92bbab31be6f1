#include "engine/state/init.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/optimizer/master_weights.hpp"
#include "engine/state/normal_batch.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/requests/phase_memory.hpp"
#include "tests/engine/initial_unit.hpp"
#include "tests/engine/run_plan.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

std::vector<double> values_of(const InitialUnit& planes, const planner::TensorSpec& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto at = static_cast<std::size_t>(tensor.offset + i);
    values.push_back(join_master({planes.high[at], planes.low[at]}));
  }
  return values;
}

/// Expects ones in norms, zeros in biases, and normal values in matrices.
void expect_initial(const planner::TensorSpec& tensor, const std::vector<double>& values,
                    double init_std) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(values.size());
  if (tensor.name.ends_with("norm.weight")) {
    EXPECT_EQ(sum, n) << tensor.name;
  } else if (tensor.name.ends_with("bias")) {
    EXPECT_EQ(squares, 0) << tensor.name;
  } else {
    // Mean within 4.5 standard errors, deviation within 4.5 of its standard errors.
    EXPECT_NEAR(sum / n, 0, 4.5 * init_std / std::sqrt(n)) << tensor.name;
    EXPECT_NEAR(std::sqrt(squares / n) / init_std, 1, 4.5 / std::sqrt(2 * n)) << tensor.name;
  }
}

TEST(Init, NormsAreOneBiasesZeroMatricesNormal) {
  planner::ModelShape shape = tiny_model("qwen2").job.model;
  shape.hidden = 64;
  shape.intermediate = 512;
  const InitialUnit planes(shape, 1, 3);
  for (const auto& tensor : planner::unit_tensors(shape, 1).tensors) {
    expect_initial(tensor, values_of(planes, tensor), shape.init_std);
  }
}

TEST(Init, AnElementDependsOnSeedTensorAndIndexAlone) {
  const planner::ModelShape shape = tiny_model("llama").job.model;
  const InitialUnit planes(shape, 2, 5);
  for (const auto& tensor : planner::unit_tensors(shape, 2).tensors) {
    if (!tensor.decays) continue;
    const std::vector<double> values = values_of(planes, tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double normal = normal_at(5, tensor.name.c_str(), i);
      EXPECT_EQ(values[i], static_cast<float>(shape.init_std * normal));
    }
  }
  EXPECT_NE(normal_at(5, "a", 0), normal_at(6, "a", 0));
  EXPECT_NE(normal_at(5, "a", 0), normal_at(5, "b", 0));
  EXPECT_NE(normal_at(5, "a", 0), normal_at(5, "a", 1));
}

TEST(NormalBatch, EveryPathRoundsAsTheReferenceWhereItIsSure) {
  constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15;
  constexpr double kDeviation = 0.02;
  const planner::ModelShape shape = tiny_model("llama").job.model;
  const planner::TensorSpec tensor = planner::unit_tensors(shape, 0).tensors.front();
  for (const NormalPath& path : normal_paths()) {
    if (!path.supported) continue;
    std::int64_t unsure = 0, all = 0;
    for (std::uint64_t first = 0; first < 200 * NormalBatch::kPairs; first += NormalBatch::kPairs) {
      NormalBatch batch;
      path.fill({kSeed, normal_stream(tensor.name), kDeviation}, first, batch);
      for (std::size_t i = 0; i < NormalBatch::kElements; ++i, ++all) {
        const auto value =
            static_cast<float>(kDeviation * normal_at(kSeed, tensor.name.c_str(), 2 * first + i));
        if (batch.unsure[i] != 0) {
          ++unsure;
        } else {
          EXPECT_EQ((SplitMaster{batch.high[i], batch.low[i]}), split_master(value)) << path.name;
        }
      }
    }
    EXPECT_LT(unsure, all / 1000) << path.name;
  }
}

/// State of a session before its first step, on a device whose memory was filled with other values.
struct StartedState {
  explicit StartedState(const InitialWeights& weights)
      : plan(planner::random_plan(job, 3)),
        tokens(job),
        graph(test::graph_of(job, plan)),
        session(test::make_session(job, graph, plan, tokens, nullptr, {}, weights)) {}
  template <class T>
  [[nodiscard]] std::vector<T> plane(std::size_t unit, Plane which) const {
    std::vector<T> values(static_cast<std::size_t>(planner::unit_padded_size(job.model, unit)));
    session->state().read_plane(unit, which, 0, std::as_writable_bytes(std::span(values)));
    return values;
  }
  [[nodiscard]] InitialUnit planes(std::size_t unit) const {
    InitialUnit planes(job.model, unit, 0);
    planes.high = plane<std::uint16_t>(unit, Plane::high);
    planes.low = plane<std::uint16_t>(unit, Plane::low);
    return planes;
  }
  planner::Job job = job_of_several_pieces();
  planner::Plan plan;
  test::RunTokens tokens;
  planner::StepGraph graph;
  std::unique_ptr<Session> session;

 private:
  /// A job whose embedding is longer than a piece that is written at a time, and whose units have
  /// padding.
  static planner::Job job_of_several_pieces() {
    planner::Job job = tiny_model("llama").job;
    job.model.vocab = 150'001;
    return job;
  }
};

TEST(Init, AStateStartsAsItsUnits) {
  const StartedState started(InitialWeights(5));
  for (std::size_t unit = 0; unit < planner::unit_count(started.job.model); ++unit) {
    const InitialUnit expected(started.job.model, unit, 5);
    EXPECT_EQ(started.plane<std::uint16_t>(unit, Plane::high), expected.high) << unit;
    EXPECT_EQ(started.plane<std::uint16_t>(unit, Plane::low), expected.low) << unit;
    for (const Plane plane : {Plane::m, Plane::v}) {
      const auto moments = started.plane<float>(unit, plane);
      EXPECT_TRUE(std::ranges::all_of(moments, [](float moment) { return moment == 0; })) << unit;
    }
  }
}

TEST(Init, RepeatedValuesAreInitialOnesAndFillEveryMatrix) {
  const StartedState started(InitialWeights(5, /*repeated=*/true)), again(InitialWeights(5, true));
  const planner::ModelShape& shape = started.job.model;
  std::ptrdiff_t all_padding = 0;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    const InitialUnit planes = started.planes(unit);
    EXPECT_EQ(planes.high, again.planes(unit).high);
    std::vector<bool> padding(planes.high.size(), true);
    for (const auto& tensor : planner::unit_tensors(shape, unit).tensors) {
      std::fill_n(padding.begin() + tensor.offset, tensor.size(), false);
      // Repeated values deviate more than as many independent draws would: by the deviation of the
      // first ones.
      std::vector<double> values = values_of(planes, tensor);
      values.resize(std::min<std::size_t>(values.size(), 1 << 20));
      expect_initial(tensor, values, shape.init_std);
    }
    all_padding += std::ranges::count(padding, true);
    for (std::size_t i = 0; i < padding.size(); ++i) {
      EXPECT_TRUE(!padding[i] || (planes.high[i] | planes.low[i]) == 0) << i;
    }
  }
  EXPECT_GT(all_padding, 0);
  const auto embedding = started.plane<std::uint16_t>(0, Plane::high);
  EXPECT_FALSE(std::equal(embedding.begin(), embedding.begin() + 1000,
                          embedding.begin() + planner::kStatePiece))
      << "pieces are shifted";
}

}  // namespace
}  // namespace sluice::engine::testing
