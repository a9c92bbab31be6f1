// A sublayer's output on its way into the residual stream. Without a norm and a factor the last
// product adds onto the stream itself; otherwise its result is rounded, normed and joined.
#include "engine/cuda/kernels/residual.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"

namespace sluice::engine {

std::uint16_t* CudaTemplates::branch_output(const CudaRecord& record, const Slot& norm, Bytes kept,
                                            std::byte* workspace) const {
  return bf16(norm.exists() ? record.at(kept) : workspace + space_.d_normed.count());
}

void CudaTemplates::multiply_onto_stream(cudaStream_t stream, const std::uint16_t* weights,
                                         const BranchProduct& product, std::byte* workspace) {
  const bool joins = changes_branch(product.norm);
  multiply(stream, weights,
           {.size = product.size,
            .x = product.x,
            .projection = product.projection,
            .addend = joins ? nullptr : product.stream,
            .y = joins ? product.output : product.next,
            .fp8 = product.fp8},
           workspace);
  if (!joins) return;
  const std::int64_t rows = product.size.tokens;
  const std::uint16_t* normed =
      normalize(stream, norm_input(weights, product.norm, product.output, rows), workspace);
  cuda::join(stream, product.stream, normed, residual_factor_, rows * hidden_, product.next);
}

const std::uint16_t* CudaTemplates::branch_gradient(cudaStream_t stream, const NormInput& output,
                                                    const Slot& norm, const std::uint16_t* d,
                                                    float* gradient, cuda::Into into,
                                                    std::byte* workspace) const {
  if (!changes_branch(norm)) return d;
  std::uint16_t* branch = bf16(workspace + space_.branch.count());
  if (residual_factor_ != 1) {
    cuda::scale(stream, d, residual_factor_, output.rows * hidden_, branch);
    d = branch;
  }
  if (!norm.exists()) return d;
  normalize(stream, output, workspace);  // For its reciprocal RMS.
  cuda::rms_norm_backward(stream, output.x, output.weight, fp32(workspace + space_.rstd.count()), d,
                          output.rows, hidden_,
                          {.d_x = branch,
                           .d_x_into = cuda::Into::overwrite,
                           .d_weight = gradient + norm.offset,
                           .d_weight_into = into},
                          workspace + space_.partials.count(), norm_factor());
  return branch;
}

}  // namespace sluice::engine
