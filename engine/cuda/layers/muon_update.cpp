// Update of a block whose weight matrices Muon has: momentum and apply by own kernels, Newton-Schulz
// iterations by products of the table.
#include <algorithm>
#include <utility>

#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/kernels/muon.hpp"
#include "engine/cuda/layers/templates.hpp"

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

void CudaTemplates::block_update(cudaStream_t stream, const AdamWOperands& operands,
                                 const MuonUnit& unit, const AdamWStep* step,
                                 std::byte* workspace) {
  for (const MuonVector& vector : unit.vectors) {
    const AdamWOperands part{.high = operands.high + vector.begin,
                             .low = operands.low + vector.begin,
                             .m = operands.m + vector.begin,
                             .v = operands.v + vector.second,
                             .gradient = gradient_from(operands, vector.begin),
                             .wire = operands.wire};
    cuda::adamw_update(part, 0, vector.size, vector.decays, step, stream);
  }
  std::byte* const scratch = workspace + space_.muon_begin.count();
  std::byte* const products = workspace + space_.gemm.count();
  const MuonConstants constants = muon_constants(job_.optimizer.muon);
  for (const MuonMatrix& matrix : unit.matrices) {
    Iterates at{scratch + space_.muon.x.count(), scratch + space_.muon.next.count(),
                scratch + space_.muon.gram.count(), scratch + space_.muon.update.count()};
    cuda::MuonOperands part{.high = operands.high + matrix.begin,
                            .low = operands.low + matrix.begin,
                            .m = operands.m + matrix.begin,
                            .gradient = gradient_from(operands, matrix.begin),
                            .wire = operands.wire,
                            .matrix = matrix,
                            .x = reinterpret_cast<std::uint16_t*>(at.x),
                            .norms = reinterpret_cast<double*>(scratch + space_.muon.norms.count())};
    cuda::muon_start(part, constants, step, stream);
    for (std::int64_t i = 0; i < job_.optimizer.muon.ns_steps; ++i) {
      iterate(gemm_, stream, matrix, at, products);
    }
    part.x = reinterpret_cast<std::uint16_t*>(at.x);
    cuda::muon_apply(part, step, stream);
  }
}

}  // namespace sluice::engine
