// A block's feed-forward half as a mixture of experts. Which rows an expert gets is known only on
// the device: kernels read it there, and launches have the size of the worst case.
#include "engine/cuda/kernels/expert_product.hpp"
#include "engine/cuda/kernels/launch.hpp"
#include "engine/cuda/kernels/routes.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

cuda::RouteArrays arrays_of(const planner::CudaRouteWorkspace& space, std::byte* workspace) {
  const auto ints = [workspace](Bytes offset) {
    return reinterpret_cast<std::int32_t*>(workspace + offset.count());
  };
  const auto floats = [workspace](Bytes offset) { return fp32(workspace + offset.count()); };
  return {.expert = ints(space.expert),
          .row = ints(space.row),
          .token = ints(space.token),
          .share = floats(space.share),
          .d_share = floats(space.d_share),
          .begin = ints(space.begin),
          .tiles = ints(space.tiles),
          .counts = ints(space.counts)};
}

cuda::RouteShape shape_of(const planner::ModelShape& model, std::int64_t tokens) {
  return {.tokens = tokens,
          .experts = model.experts->count,
          .active = model.experts->active,
          .normalized = model.experts->normalized};
}

cuda::RowGroups groups_of(const cuda::RouteShape& shape, const cuda::RouteArrays& routes) {
  return {.begin = shape.experts == 1 ? nullptr : routes.begin,
          .tiles = shape.experts == 1 ? nullptr : routes.tiles,
          .groups = shape.experts,
          .rows = shape.tokens * shape.active};
}

}  // namespace

void CudaTemplates::require_computable_experts(const planner::ModelShape& shape) {
  if (!shape.experts) return;
  const planner::Experts& experts = *shape.experts;
  if (experts.count > cuda::kMostExperts || experts.active > cuda::kMostActive ||
      experts.intermediate % cuda::kVector != 0) {
    throw BadRequest("model: the cuda backend computes mixtures of up to " +
                     std::to_string(cuda::kMostExperts) + " experts, of which a token uses up to " +
                     std::to_string(cuda::kMostActive) +
                     ", of an intermediate size that is a multiple of " +
                     std::to_string(cuda::kVector) + ": use --backend host");
  }
}

/// Norm and router: writes the router's logits to the record.
void CudaTemplates::project_router(cudaStream_t stream, const std::uint16_t* weights,
                                   const CudaRecord& record, Span span,
                                   std::byte* workspace) const {
  std::uint16_t* normed = bf16(workspace + space_.normed.count());
  normalize(stream, post_norm(weights, bf16(record.at(layout_.residual)), span.count), workspace);
  cuda::multiply_rows(stream, {normed, nullptr, hidden_}, {.rows = span.count},
                      {weights + slots_.experts.router.weight.offset, 0}, hidden_,
                      job_.model.experts->count, fp32(record.at(layout_.router)));
}

/// Routes, gate and up; follows project_router with the same workspace. Writes the record from gate
/// on.
void CudaTemplates::expand_experts(cudaStream_t stream, const std::uint16_t* weights,
                                   const CudaRecord& record, Span span, std::byte* workspace) {
  const ExpertSlots& slots = slots_.experts;
  const cuda::RouteShape shape = shape_of(job_.model, span.count);
  const cuda::RouteArrays routes = arrays_of(space_.routes, workspace);
  const std::int64_t width = job_.model.experts->intermediate;
  const std::uint16_t* normed = bf16(workspace + space_.normed.count());
  cuda::route(stream, fp32(record.at(layout_.router)), shape, routes);
  cuda::multiply_rows(stream, {normed, routes.token, hidden_}, groups_of(shape, routes),
                      {weights + slots.gate.weight.offset, slots.stride}, hidden_, 2 * width,
                      bf16(record.at(layout_.gate)));
}

/// SwiGLU, down projections, sums over experts and residual; follows expand_experts with the same
/// workspace.
void CudaTemplates::contract_experts(cudaStream_t stream, const std::uint16_t* weights,
                                     const CudaRecord& record, Span span, std::byte* next_input,
                                     std::byte* workspace) {
  const ExpertSlots& slots = slots_.experts;
  const cuda::RouteShape shape = shape_of(job_.model, span.count);
  const cuda::RouteArrays routes = arrays_of(space_.routes, workspace);
  const cuda::RowGroups groups = groups_of(shape, routes);
  const std::int64_t width = job_.model.experts->intermediate;
  std::uint16_t* activation = bf16(workspace + space_.activation.count());
  std::uint16_t* rows = bf16(workspace + space_.routes.rows.count());
  cuda::weighted_swiglu(stream, bf16(record.at(layout_.gate)), routes.share, groups.rows, width,
                        activation);
  cuda::multiply_rows(stream, {activation, nullptr, width}, groups,
                      {weights + slots.down.weight.offset, slots.stride}, width, hidden_, rows);
  cuda::combine_rows(stream, rows, shape, routes, bf16(record.at(layout_.residual)), hidden_,
                     bf16(next_input));
}

void CudaTemplates::block_route(cudaStream_t stream, const std::uint16_t* weights,
                                const CudaRecord& record, const CudaKeptKeys& kept,
                                std::int32_t* begins, std::byte* workspace) {
  const cuda::RouteShape shape = shape_of(job_.model, kept.count);
  const cuda::RouteArrays routes = arrays_of(space_.routes, workspace);
  extend(stream, weights, record, kept, workspace);
  project_router(stream, weights, record, {kept.first, kept.count}, workspace);
  cuda::route(stream, fp32(record.at(layout_.router)), shape, routes);
  check_cuda(cudaMemcpyAsync(begins, routes.begin,
                             static_cast<std::size_t>(shape.experts + 1) * sizeof(std::int32_t),
                             cudaMemcpyDeviceToDevice, stream),
             "routes to experts");
}

// Computes the router's product once more, because its input is the experts' input, too; the bits
// are the same, and so are the experts.
void CudaTemplates::block_experts(cudaStream_t stream, const std::uint16_t* weights,
                                  const CudaRecord& record, std::int64_t count,
                                  std::byte* next_input, std::byte* workspace) {
  feed_forward(stream, weights, record, {0, count}, next_input, workspace);
}

/// Adds the micro-batch's routes and probabilities to the sums of earlier blocks, behind the
/// residual stream.
void CudaTemplates::add_balance(cudaStream_t stream, const CudaRecord& record,
                                std::byte* next_input, std::byte* workspace) const {
  if (!job_.router_aux_loss_coef) return;
  cuda::add_balance(stream, fp32(record.at(layout_.router)), shape_of(job_.model, tokens_),
                    arrays_of(space_.routes, workspace),
                    fp32(record.input + layout_.counts.count()),
                    fp32(next_input + layout_.counts.count()));
}

void CudaTemplates::balance_loss(cudaStream_t stream, const std::byte* input, double* loss) const {
  cuda::balance_loss(stream, fp32(input + layout_.counts.count()), job_.model.experts->count,
                     job_.balance_scale(tokens_), loss);
}

std::size_t CudaTemplates::counts_bytes() const {
  if (!job_.router_aux_loss_coef) return 0;
  return static_cast<std::size_t>(job_.model.experts->count) * sizeof(float);
}

void CudaTemplates::backward_experts(cudaStream_t stream, const std::uint16_t* weights,
                                     float* gradient, cuda::Into into, const CudaRecord& record,
                                     std::uint16_t* d_stream, std::byte* workspace) {
  const ExpertSlots& slots = slots_.experts;
  const cuda::RouteShape shape = shape_of(job_.model, tokens_);
  const cuda::RouteArrays routes = arrays_of(space_.routes, workspace);
  const cuda::RowGroups groups = groups_of(shape, routes);
  const cuda::RowGroups all_tokens{.rows = tokens_};
  const std::int64_t width = job_.model.experts->intermediate;
  const std::int64_t router_row = planner::router_row(shape.experts);
  std::uint16_t* normed = bf16(workspace + space_.normed.count());
  std::uint16_t* d_normed = bf16(workspace + space_.d_normed.count());
  std::uint16_t* activation = bf16(workspace + space_.activation.count());
  std::uint16_t* d_gate_up = bf16(workspace + space_.d_gate_up.count());
  std::uint16_t* rows = bf16(workspace + space_.routes.rows.count());
  std::uint16_t* d_logits = bf16(workspace + space_.routes.d_logits.count());
  const float* logits = fp32(record.at(layout_.router));
  const NormInput norm = post_norm(weights, bf16(record.at(layout_.residual)), tokens_);
  const cuda::IndexedRows d_out{d_stream, routes.token, hidden_};
  const cuda::IndexedRows in{normed, routes.token, hidden_};

  cuda::route(stream, logits, shape, routes);
  cuda::multiply_rows_transposed(stream, d_out, groups,
                                 {weights + slots.down.weight.offset, slots.stride}, width, hidden_,
                                 activation);
  cuda::weighted_swiglu_backward(stream, bf16(record.at(layout_.gate)), routes.share, groups.rows,
                                 width, activation, d_gate_up, routes.d_share);
  cuda::accumulate_rows(stream, d_out, {activation, nullptr, width}, groups,
                        {gradient + slots.down.weight.offset, slots.stride}, width, hidden_, into);
  normalize(stream, norm, workspace);
  const cuda::IndexedRows d_wide{d_gate_up, nullptr, 2 * width};
  cuda::accumulate_rows(stream, d_wide, in, groups,
                        {gradient + slots.gate.weight.offset, slots.stride}, hidden_, 2 * width,
                        into);
  cuda::multiply_rows_transposed(stream, d_wide, groups,
                                 {weights + slots.gate.weight.offset, slots.stride}, hidden_,
                                 2 * width, rows);
  cuda::route_backward(stream, logits, shape, routes, job_.balance_weight(tokens_),
                       fp32(reinterpret_cast<std::byte*>(d_stream) + layout_.counts.count()),
                       d_logits);
  cuda::accumulate_rows(stream, {d_logits, nullptr, router_row}, {normed, nullptr, hidden_},
                        all_tokens, {gradient + slots.router.weight.offset, 0}, hidden_,
                        shape.experts, into);
  cuda::multiply_rows_transposed(stream, {d_logits, nullptr, router_row}, all_tokens,
                                 {weights + slots.router.weight.offset, 0}, hidden_, shape.experts,
                                 d_normed);
  cuda::combine_rows(stream, rows, shape, routes, d_normed, hidden_, d_normed);
  add_norm_backward(stream, norm, slots_.norm_before_mlp, gradient, into, d_stream, workspace);
}

}  // namespace sluice::engine
