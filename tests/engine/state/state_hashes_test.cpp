// Hashes of a trained state against a literal implementation of docs/numerics.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "planner/files/hash.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"

namespace sluice::engine {
namespace {

/// A job whose embedding's planes are larger than what is read at a time, and end inside such a
/// part.
planner::Job wide_job() {
  planner::Job job = test::small_jobs().front().job;
  job.model.vocab = 150'001;
  return job;
}

/// Hash of `planes` of every tensor, units and tensors in order, read whole and hashed in pieces.
std::string hash_of(const planner::ModelShape& model, const TrainingState& state,
                    const std::vector<Plane>& planes) {
  planner::Sha256 sha;
  for (std::size_t unit = 0; unit < planner::unit_count(model); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(model, unit).tensors) {
      for (const Plane plane : planes) {
        const PlaneSize size = plane_size(plane, state.type());
        const std::int64_t begin = size.before(tensor.offset);
        std::vector<std::byte> bytes(
            static_cast<std::size_t>(size.of(tensor.offset + tensor.size()) - begin));
        state.read_plane(unit, plane, begin, bytes);
        for (std::span<const std::byte> rest = bytes; !rest.empty();) {
          const auto piece = rest.first(std::min<std::size_t>(rest.size(), 4U << 20U));
          const auto digest = planner::Sha256().update(piece).digest();
          sha.update(std::as_bytes(std::span(digest)));
          rest = rest.subspan(piece.size());
        }
      }
    }
  }
  return sha.hex();
}

TEST(StateHashes, AreOfEveryTensorsPlanesInCanonicalOrder) {
  const planner::Job job = wide_job();
  const planner::Plan plan = planner::random_plan(job, 3);
  test::RunTokens tokens(job);
  const planner::StepGraph graph = test::graph_of(job, plan);
  const auto session = test::make_session(job, graph, plan, tokens);
  session->run_to(1);
  const TrainingState& state = session->state();
  std::int64_t last = 0, all = 0;
  const StateHashes hashes = state.hashes([&](std::int64_t done, std::int64_t of) {
    EXPECT_GT(done, last);
    last = done;
    all = of;
  });
  EXPECT_EQ(hashes.weights, hash_of(job.model, state, {Plane::high, Plane::low}));
  EXPECT_EQ(hashes.moments, hash_of(job.model, state, {Plane::m, Plane::v}));
  EXPECT_EQ(state.weights_sha256(), hashes.weights);
  EXPECT_EQ(state.state_sha256(), hashes.moments);
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, 12 * planner::parameter_count(job.model));
}

}  // namespace
}  // namespace sluice::engine
