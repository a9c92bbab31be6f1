// A block's feed-forward half as a mixture of experts. Which rows an expert gets is known only on
// the device: kernels read it there, and launches have the size of the worst case.
#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/expert_bias.hpp"
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

cuda::RowGroups groups_of(const cuda::RouteShape& shape, const cuda::RouteArrays& routes) {
  return {.begin = shape.experts == 1 ? nullptr : routes.begin,
          .tiles = shape.experts == 1 ? nullptr : routes.tiles,
          .groups = shape.experts,
          .rows = shape.tokens * shape.active};
}

/// Biases of experts, from the place of the first one's.
cuda::GroupBiases biases_of(const std::uint16_t* weights, const ExpertSlots& slots,
                            const Slot& bias, const float* factor = nullptr) {
  return {vector_of(weights, bias), slots.stride, factor};
}

}  // namespace

cuda::RouteShape CudaTemplates::route_shape(const CudaLayer& layer, const std::uint16_t* weights,
                                            std::int64_t tokens) const {
  const planner::Experts& experts = *layer.shape.experts;
  return {.tokens = tokens,
          .experts = experts.count,
          .active = experts.active,
          .normalized = experts.normalized,
          .score = experts.score,
          .groups = experts.groups,
          .active_groups = experts.active_groups,
          .group_score = experts.group_score,
          .scaling = static_cast<float>(experts.scaling),
          .correction = vector_of(weights, layer.slots.experts.correction_bias)};
}

void CudaTemplates::require_computable_experts(const planner::ModelShape& shape) {
  if (!shape.experts) return;
  const planner::Experts& experts = *shape.experts;
  if (experts.count > cuda::kMostExperts || experts.active > cuda::kMostActive ||
      experts.groups > cuda::kMostGroups || experts.intermediate % cuda::kVector != 0) {
    throw BadRequest("model: the cuda backend computes mixtures of up to " +
                     std::to_string(cuda::kMostExperts) + " experts, of which a token uses up to " +
                     std::to_string(cuda::kMostActive) + ", in up to " +
                     std::to_string(cuda::kMostGroups) +
                     " groups, of an intermediate size that is a multiple of " +
                     std::to_string(cuda::kVector) + ": use --backend host");
  }
}

/// Norm and router: writes the router's logits to the record.
void CudaTemplates::project_router(cudaStream_t stream, const std::uint16_t* weights,
                                   const CudaRecord& record, Span span,
                                   std::byte* workspace) const {
  const CudaLayer& layer = layer_of(record);
  const Projection& router = layer.slots.experts.router;
  const std::uint16_t* normed = normalize(stream,
                                          norm_input(weights, layer.slots.norm_before_mlp,
                                                     bf16(record.at(layout_.residual)), span.count),
                                          workspace);
  cuda::multiply_rows(stream, {normed, nullptr, hidden_}, {.rows = span.count},
                      {weights + router.weight.offset, 0}, hidden_, layer.shape.experts->count,
                      fp32(record.at(layout_.router)), {vector_of(weights, router.bias)});
}

/// Routes, gate and up; follows project_router with the same workspace. Writes the record from gate
/// on.
void CudaTemplates::expand_experts(cudaStream_t stream, const std::uint16_t* weights,
                                   const CudaRecord& record, Span span, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const ExpertSlots& slots = layer.slots.experts;
  const cuda::RouteShape shape = route_shape(layer, weights, span.count);
  const cuda::RouteArrays routes = arrays_of(space_.routes, workspace);
  const std::int64_t width = layer.shape.experts->intermediate;
  const std::uint16_t* normed = bf16(workspace + space_.normed.count());
  cuda::route(stream, fp32(record.at(layout_.router)), shape, routes);
  cuda::multiply_rows(stream, {normed, routes.token, hidden_}, groups_of(shape, routes),
                      {weights + slots.gate.weight.offset, slots.stride}, hidden_, 2 * width,
                      bf16(record.at(layout_.gate)), biases_of(weights, slots, slots.gate.bias));
  expand_shared(stream, weights, record, span.count, workspace);
}

/// Activation, down projections, sums over experts and residual; follows expand_experts with the
/// same workspace. A bias of the down projection has the route's share as its factor.
void CudaTemplates::contract_experts(cudaStream_t stream, const std::uint16_t* weights,
                                     const CudaRecord& record, Span span, std::byte* next_input,
                                     std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const ExpertSlots& slots = layer.slots.experts;
  const cuda::RouteShape shape = route_shape(layer, weights, span.count);
  const cuda::RouteArrays routes = arrays_of(space_.routes, workspace);
  const cuda::RowGroups groups = groups_of(shape, routes);
  const std::int64_t width = layer.shape.experts->intermediate;
  std::uint16_t* activation = bf16(workspace + space_.activation.count());
  std::uint16_t* rows = bf16(workspace + space_.routes.rows.count());
  cuda::weighted_activation(stream, layer.shape.activation, bf16(record.at(layout_.gate)),
                            routes.share, groups.rows, width, activation);
  cuda::multiply_rows(stream, {activation, nullptr, width}, groups,
                      {weights + slots.down.weight.offset, slots.stride}, width, hidden_, rows,
                      biases_of(weights, slots, slots.down.bias, routes.share));
  const std::uint16_t* shared = contract_shared(stream, weights, record, span.count, workspace);
  cuda::combine_rows(stream, rows, shape, routes,
                     {bf16(record.at(layout_.residual)), shared, residual_factor_}, hidden_,
                     bf16(next_input));
}

void CudaTemplates::block_route(cudaStream_t stream, const std::uint16_t* weights,
                                const CudaRecord& record, const CudaKeptKeys& kept,
                                std::int32_t* begins, std::byte* workspace) {
  const cuda::RouteShape shape = route_shape(layer_of(record), weights, kept.count);
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
  const CudaLayer& layer = layer_of(record);
  std::byte* before = record.input + layout_.counts.count();
  std::byte* after = next_input + layout_.counts.count();
  if (!layer.shape.experts) {
    return check_cuda(
        cudaMemcpyAsync(after, before, 2 * counts_bytes(), cudaMemcpyDeviceToDevice, stream),
        "routes and probabilities");
  }
  cuda::add_balance(stream, fp32(record.at(layout_.router)), route_shape(layer, nullptr, tokens_),
                    arrays_of(space_.routes, workspace), fp32(before), fp32(after));
}

void CudaTemplates::balance_loss(cudaStream_t stream, const std::byte* input, double* loss) const {
  cuda::balance_loss(stream, fp32(input + layout_.counts.count()), job_.model.experts->count,
                     job_.balance_scale(tokens_), loss);
}

std::size_t CudaTemplates::counts_bytes() const {
  if (!job_.router_aux_loss_coef) return 0;
  return static_cast<std::size_t>(job_.model.experts->count) * sizeof(float);
}

/// The router's logits: their gradient, and through it those of the router and of its input, which
/// goes to d_normed in the workspace.
void CudaTemplates::backward_router(cudaStream_t stream, const std::uint16_t* weights,
                                    float* gradient, cuda::Into into, const CudaRecord& record,
                                    const float* counts, std::byte* workspace) const {
  const CudaLayer& layer = layer_of(record);
  const Projection& router = layer.slots.experts.router;
  const cuda::RouteShape shape = route_shape(layer, weights, tokens_);
  const std::int64_t row = planner::router_row(shape.experts);
  const std::uint16_t* normed = bf16(workspace + space_.normed.count());
  std::uint16_t* d_logits = bf16(workspace + space_.routes.d_logits.count());
  const cuda::RowGroups all_tokens{.rows = tokens_};
  cuda::route_backward(stream, fp32(record.at(layout_.router)), shape,
                       arrays_of(space_.routes, workspace), job_.balance_weight(tokens_), counts,
                       d_logits);
  cuda::accumulate_rows(stream, {d_logits, nullptr, row}, {normed, nullptr, hidden_}, all_tokens,
                        {gradient + router.weight.offset, 0}, hidden_, shape.experts, into);
  // The zeros behind the last expert go to the bias's padding.
  if (router.bias.exists()) {
    cuda::column_sum(stream, d_logits, tokens_, row, row, gradient + router.bias.offset, into,
                     workspace + space_.partials.count());
  }
  cuda::multiply_rows_transposed(stream, {d_logits, nullptr, row}, all_tokens,
                                 {weights + router.weight.offset, 0}, hidden_, shape.experts,
                                 bf16(workspace + space_.d_normed.count()));
}

void CudaTemplates::backward_experts(cudaStream_t stream, const std::uint16_t* weights,
                                     float* gradient, cuda::Into into, const CudaRecord& record,
                                     std::uint16_t* d_stream, std::byte* workspace) {
  const CudaLayer& layer = layer_of(record);
  const ExpertSlots& slots = layer.slots.experts;
  const cuda::RouteShape shape = route_shape(layer, weights, tokens_);
  const cuda::RouteArrays routes = arrays_of(space_.routes, workspace);
  const cuda::RowGroups groups = groups_of(shape, routes);
  const std::int64_t width = layer.shape.experts->intermediate;
  std::uint16_t* d_normed = bf16(workspace + space_.d_normed.count());
  std::uint16_t* activation = bf16(workspace + space_.activation.count());
  std::uint16_t* d_gate_up = bf16(workspace + space_.d_gate_up.count());
  std::uint16_t* rows = bf16(workspace + space_.routes.rows.count());
  const NormInput norm =
      norm_input(weights, layer.slots.norm_before_mlp, bf16(record.at(layout_.residual)), tokens_);
  const std::uint16_t* d = branch_gradient(stream, norm, layer.slots.norm_after_mlp, d_stream,
                                           gradient, into, workspace);
  const cuda::IndexedRows d_out{d, routes.token, hidden_};

  cuda::route(stream, fp32(record.at(layout_.router)), shape, routes);
  cuda::multiply_rows_transposed(stream, d_out, groups,
                                 {weights + slots.down.weight.offset, slots.stride}, width, hidden_,
                                 activation);
  cuda::weighted_activation_backward(stream, layer.shape.activation, bf16(record.at(layout_.gate)),
                                     routes.share, groups.rows, width, activation, d_gate_up,
                                     routes.d_share);
  cuda::accumulate_rows(stream, d_out, {activation, nullptr, width}, groups,
                        {gradient + slots.down.weight.offset, slots.stride}, width, hidden_, into);
  const cuda::IndexedRows in{normalize(stream, norm, workspace), routes.token, hidden_};
  const cuda::IndexedRows d_wide{d_gate_up, nullptr, 2 * width};
  cuda::accumulate_rows(stream, d_wide, in, groups,
                        {gradient + slots.gate.weight.offset, slots.stride}, hidden_, 2 * width,
                        into);
  cuda::multiply_rows_transposed(stream, d_wide, groups,
                                 {weights + slots.gate.weight.offset, slots.stride}, hidden_,
                                 2 * width, rows);
  if (slots.down.bias.exists()) {
    cuda::add_bias_shares(stream, d_out, groups, biases_of(weights, slots, slots.down.bias),
                          hidden_, routes.d_share);
    cuda::accumulate_biases(stream, d_out, routes.share, groups,
                            {gradient + slots.down.bias.offset, slots.stride}, hidden_, into);
    cuda::accumulate_biases(stream, d_wide, nullptr, groups,
                            {gradient + slots.gate.bias.offset, slots.stride}, 2 * width, into);
  }
  const std::uint16_t* d_shared =
      backward_shared(stream, weights, gradient, into, record, d, workspace);
  backward_router(stream, weights, gradient, into, record,
                  fp32(reinterpret_cast<std::byte*>(d_stream) + layout_.counts.count()), workspace);
  cuda::combine_rows(stream, rows, shape, routes, {d_normed, d_shared}, hidden_, d_normed);
  add_norm_backward(stream, norm, layer.slots.norm_before_mlp, gradient, into, d_stream, workspace);
}

}  // namespace sluice::engine
