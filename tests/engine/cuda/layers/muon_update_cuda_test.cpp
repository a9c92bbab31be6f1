// A block's update by Muon on a CUDA device against the host's: momenta and AdamW's tensors bit for
// bit, matrices within the rounding of bf16 iterates. Needs a CUDA device.
#include "engine/cuda/layers/muon_update.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/host/muon_update.hpp"
#include "tests/engine/cuda/backend/training_job.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine {
namespace {

using cuda::testing::DeviceArray;
using cuda::testing::Halves;

/// Iterates of 8 bits after five products each: a few parts in a hundred of an update's norm.
constexpr double kIterates = 0.05;

planner::Job muon_job(planner::GradientWire wire) {
  planner::Job job = training_job();
  job.gradient_wire = wire;
  job.optimizer.kind = planner::OptimizerKind::muon;
  return job;
}

struct State {
  Halves high, low;
  std::vector<float> m, v;
  std::vector<float> gradient;
  Halves wire;  ///< The gradient, rounded to bf16.

  [[nodiscard]] AdamWOperands operands(planner::GradientWire of) {
    const bool halves = of == planner::GradientWire::bf16;
    const void* at = halves ? static_cast<const void*>(wire.data()) : gradient.data();
    return {.high = high.data(),
            .low = low.data(),
            .m = m.data(),
            .v = v.data(),
            .gradient = at,
            .wire = of};
  }
};

State random_state(std::int64_t elements, std::int64_t second) {
  cuda::testing::RandomValues random(5);
  State state;
  for (const float weight : random.floats(elements, 0.02F)) {
    const SplitMaster halves = split_master(weight);
    state.high.push_back(halves.high);
    state.low.push_back(halves.low);
  }
  state.m = random.floats(elements, 1e-3F);
  state.v.assign(static_cast<std::size_t>(second), 1e-6F);
  state.gradient = random.floats(elements, 1e-3F);
  for (const float each : state.gradient) state.wire.push_back(float_to_bf16(each));
  return state;
}

class CudaMuonUpdate : public cuda::testing::KernelTest {};

/// |a - b| / |b| of the changes of a matrix's weights since `before`.
double change_error(const MuonMatrix& matrix, const State& before, const State& host,
                    const Halves& high, const Halves& low) {
  double difference = 0, size = 0;
  for (std::int64_t i = 0; i < matrix.rows * matrix.cols; ++i) {
    const auto at = static_cast<std::size_t>(matrix.begin + i);
    const double was = join_master({before.high[at], before.low[at]});
    const double expected = join_master({host.high[at], host.low[at]}) - was;
    const double found = join_master({high[at], low[at]}) - was;
    difference += (found - expected) * (found - expected);
    size += expected * expected;
  }
  return std::sqrt(difference / size);
}

TEST_F(CudaMuonUpdate, GivesTheHostsMomentaAndVectorsAndMatricesWithinRounding) {
  for (const auto wire : {planner::GradientWire::fp32, planner::GradientWire::bf16}) {
    const planner::Job job = muon_job(wire);
    const planner::UnitTensors tensors = planner::unit_tensors(job.model, 1);
    const MuonUnit unit = muon_unit(job.optimizer.muon, tensors);
    const State before =
        random_state(tensors.padded_size, planner::muon_second_moments(tensors).elements);
    const DeviceArray<std::uint16_t> high(before.high), low(before.low), halves(before.wire);
    const DeviceArray<float> m(before.m), v(before.v), gradient(before.gradient);
    const DeviceArray<std::byte> workspace(planner::cuda_workspace(job).total.count());
    const SharedMemory shared(sizeof(AdamWStep));
    const AdamWStep step = adamw_step(job.optimizer, 1e-2, 3, 0.7F);
    CudaMuon muon(job);
    const void* at = wire == planner::GradientWire::bf16 ? static_cast<const void*>(halves.data())
                                                         : gradient.data();
    muon.update(stream_, 1,
                {.high = high.data(),
                 .low = low.data(),
                 .m = m.data(),
                 .v = v.data(),
                 .gradient = at,
                 .wire = wire},
                new (shared.data()) AdamWStep(step), workspace.data());
    finish();

    State host = before;
    std::vector<std::byte> scratch(static_cast<std::size_t>(
        planner::muon_workspace(job, planner::kHostMuonElement).total.count()));
    ThreadPool pool(1);
    muon_update(job, host.operands(wire), unit, step, scratch.data(), pool);

    EXPECT_EQ(m.values(), host.m);
    EXPECT_EQ(v.values(), host.v);
    const Halves found_high = high.values(), found_low = low.values();
    for (const MuonVector& vector : unit.vectors) {
      for (std::int64_t i = vector.begin; i < vector.begin + vector.size; ++i) {
        const auto index = static_cast<std::size_t>(i);
        ASSERT_EQ(found_high[index], host.high[index]) << i;
        ASSERT_EQ(found_low[index], host.low[index]) << i;
      }
    }
    for (const MuonMatrix& matrix : unit.matrices) {
      EXPECT_LT(change_error(matrix, before, host, found_high, found_low), kIterates)
          << matrix.rows << " x " << matrix.cols;
    }
    EXPECT_TRUE(high.intact() && low.intact() && m.intact() && v.intact() && workspace.intact());
  }
}

}  // namespace
}  // namespace sluice::engine
