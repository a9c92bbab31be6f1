#include "engine/cuda/layers/muon_update.hpp"

#include <algorithm>
#include <utility>

#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/kernels/muon.hpp"
#include "planner/models/muon.hpp"

namespace sluice::engine {
namespace {

const std::byte* gradient_from(const AdamWOperands& operands, std::int64_t begin) {
  const std::int64_t element = operands.wire == planner::GradientWire::bf16 ? 2 : 4;
  return static_cast<const std::byte*>(operands.gradient) + element * begin;
}

/// Places of one matrix's update in the workspace, all bf16.
struct Iterates {
  std::byte *x, *next, *gram, *update;
};

/// X = a X + (b A + c A A) X with A = X X^T, in place of `at.x`; `at.next` gets what it held.
void iterate(CudaGemm& gemm, cudaStream_t stream, const MuonMatrix& matrix, Iterates& at,
             std::byte* workspace) {
  const auto [side, other] = std::minmax(matrix.rows, matrix.cols);
  const CudaGemm::Size square{side, side, side};
  const CudaGemm::Size wide{side, other, side};
  gemm.forward(stream, wide, at.x, at.x, nullptr, nullptr, at.gram, workspace);
  gemm.forward_onto(stream, square, at.gram, at.gram, at.gram, {kMuonC, kMuonB}, at.update,
                    workspace);
  gemm.input_gradient_onto(stream, wide, at.update, at.x, at.x, {1, kMuonA}, at.next, workspace);
  std::swap(at.x, at.next);
}

}  // namespace

CudaMuon::CudaMuon(const planner::Job& job, std::optional<GemmTable> gemm)
    : settings_(job.optimizer.muon),
      space_(planner::cuda_workspace(job)),
      gemm_(std::move(gemm)),
      units_(planner::unit_count(job.model)) {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    if (!planner::muon_updates(job, unit)) continue;
    units_[unit] = muon_unit(settings_, planner::unit_tensors(job.model, unit));
  }
}

void CudaMuon::update(cudaStream_t stream, std::size_t unit, const AdamWOperands& operands,
                      const AdamWStep* step, std::byte* workspace) {
  for (const MuonVector& vector : units_[unit].vectors) {
    const AdamWOperands part{.high = operands.high + vector.begin,
                             .low = operands.low + vector.begin,
                             .m = operands.m + vector.begin,
                             .v = operands.v + vector.second,
                             .gradient = gradient_from(operands, vector.begin),
                             .wire = operands.wire};
    cuda::adamw_update(part, 0, vector.size, vector.decays, step, stream);
  }
  for (const MuonMatrix& matrix : units_[unit].matrices) {
    update_matrix(stream, matrix, operands, step, workspace);
  }
}

void CudaMuon::update_matrix(cudaStream_t stream, const MuonMatrix& matrix,
                             const AdamWOperands& operands, const AdamWStep* step,
                             std::byte* workspace) {
  std::byte* const scratch = workspace + space_.muon_begin.count();
  const auto at = [scratch](Bytes offset) { return scratch + offset.count(); };
  const planner::MuonWorkspace& space = space_.muon;
  Iterates iterates{at(space.x), at(space.next), at(space.gram), at(space.update)};
  cuda::MuonOperands part{.high = operands.high + matrix.begin,
                          .low = operands.low + matrix.begin,
                          .m = operands.m + matrix.begin,
                          .gradient = gradient_from(operands, matrix.begin),
                          .wire = operands.wire,
                          .matrix = matrix,
                          .x = reinterpret_cast<std::uint16_t*>(iterates.x),
                          .norms = reinterpret_cast<double*>(at(space.norms))};
  cuda::muon_start(part, muon_constants(settings_), step, stream);
  for (std::int64_t i = 0; i < settings_.ns_steps; ++i) {
    iterate(gemm_, stream, matrix, iterates, workspace + space_.gemm.count());
  }
  part.x = reinterpret_cast<std::uint16_t*>(iterates.x);
  cuda::muon_apply(part, step, stream);
}

}  // namespace sluice::engine
