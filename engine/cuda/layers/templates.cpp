#include "engine/cuda/layers/templates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/documents.hpp"
#include "engine/cuda/kernels/embedding.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/host/rope.hpp"
#include "planner/models/support.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

const planner::Job& checked(const planner::Job& job) {
  CudaTemplates::require_computable(job);
  return job;
}

}  // namespace

void CudaTemplates::require_computable(const planner::Job& job) {
  if (job.compute != planner::ComputeType::bf16) {
    throw BadRequest(
        "compute: the cuda backend computes in bf16 (fp32 accumulation): use compute=bf16");
  }
  if (job.attention == planner::AttentionSpan::document &&
      planner::attention_shape(job).window.has_value()) {
    throw BadRequest(
        "packing: the cuda backend keeps attention inside documents only without a sliding window: "
        "use packing=off or stream, or seq_len of at most the window, " +
        std::to_string(*planner::attention_shape(job).window));
  }
  if (job.model.hidden > cuda::kMostNormWidth) {
    throw BadRequest("model.hidden_size: the cuda backend computes rows of up to " +
                     std::to_string(cuda::kMostNormWidth) + " columns, and the model has " +
                     std::to_string(job.model.hidden) + ": use --backend host");
  }
  if (const auto part = planner::unsupported_by_cuda(job.model)) {
    throw BadRequest("model: it has " + *part +
                     ", which the cuda backend does not compute: use --backend host");
  }
  require_computable_experts(job.model);
  for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
    const planner::UnitTensors tensors = planner::unit_tensors(job.model, unit);
    if (tensors.parameters() != tensors.padded_size) {
      throw BadRequest("model: the cuda backend needs tensor sizes that are multiples of " +
                       std::to_string(planner::kTensorAlign) + " elements; " +
                       planner::unit_name(job.model, unit) + " has others");
    }
  }
}

/// RoPE tables on the device: the only memory outside the arenas besides the libraries' own.
struct CudaTemplates::Tables {
  explicit Tables(const planner::Job& job) {
    RopeTableValues tables =
        rope_table_values(job.model.rotary.front(), job.model.head_dim, job.seq_len);
    std::vector<float> values = std::move(tables.cos);
    values.insert(values.end(), tables.sin.begin(), tables.sin.end());
    check(Bytes(static_cast<std::int64_t>(values.size() * sizeof(float))) ==
              planner::rope_table_bytes(job),
          "RoPE tables take what the planner counts");
    check_cuda(cudaMalloc(&memory, values.size() * sizeof(float)), "RoPE tables");
    check_cuda(
        cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
        "RoPE tables");
    view = {.cos = static_cast<const float*>(memory),
            .sin = static_cast<const float*>(memory) + values.size() / 2};
  }
  ~Tables() { cudaFree(memory); }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  void* memory = nullptr;
  cuda::RopeTables view;
};

CudaTemplates::CudaTemplates(const planner::Job& job, std::optional<GemmTable> gemm)
    : job_(checked(job)),
      layout_(planner::block_record(job)),
      space_(planner::cuda_workspace(job)),
      slots_(block_slots(job.model)),
      ends_(end_slots(job.model)),
      tokens_(job.micro_tokens()),
      hidden_(job.model.hidden),
      query_(job.model.heads * job.model.head_dim),
      key_(job.model.kv_heads * job.model.head_dim),
      qkv_(query_ + 2 * key_),
      intermediate_(job.model.intermediate),
      gemm_(std::move(gemm)),
      tables_(std::make_unique<Tables>(job)) {
  if (!job.sequence_chunk) attention_.emplace(cudnn_, planner::attention_shape(job));
  check(slots_.k.weight.offset == slots_.q.weight.offset + slots_.q.weight.size() &&
            slots_.v.weight.offset == slots_.k.weight.offset + slots_.k.weight.size() &&
            slots_.up.weight.offset == slots_.gate.weight.offset + slots_.gate.weight.size() &&
            slots_.experts.up.offset == slots_.experts.gate.offset + slots_.experts.gate.size(),
        "q, k, v and gate, up are adjacent");
  check(
      !attention_ || std::max(attention_->forward_workspace(), attention_->backward_workspace()) <=
                         planner::attention_workspace_bound(planner::attention_shape(job)),
      "attention's workspace is within its bound");
  const cuda::RopeShape rope = rope_shape(all_tokens(), nullptr);
  check(std::max(
            {cuda::norm_backward_workspace(tokens_, hidden_), cuda::rope_backward_workspace(rope),
             cuda::column_sum_workspace(tokens_, std::max({qkv_, 2 * intermediate_, hidden_}))}) <=
            space_.gemm - space_.partials,
        "partial sums are within their bound");
}

CudaTemplates::~CudaTemplates() = default;

cuda::RopeShape CudaTemplates::rope_shape(Span span, const std::int32_t* starts) const {
  return {.tokens = span.count,
          .seq_len = job_.seq_len,
          .heads = job_.model.heads,
          .kv_heads = job_.model.kv_heads,
          .head_dim = job_.model.head_dim,
          .starts = starts};
}

cuda::RopeTables CudaTemplates::rope_tables(std::int64_t first) const {
  const std::int64_t offset = first * job_.model.head_dim / 2;
  return {.cos = tables_->view.cos + offset, .sin = tables_->view.sin + offset};
}

std::string CudaTemplates::numerics() const {
  return gemm_.numerics(gemm_keys(job_)) + ", cudnn " + std::to_string(cudnn_.version()) +
         ", attention " + (attention_ ? attention_->engines() : "over kept keys") + ", kernels 1" +
         (job_.model.experts ? ", experts 1" : "");
}

void CudaTemplates::embed_forward(cudaStream_t stream, const std::uint16_t* weights,
                                  const std::int32_t* tokens, std::int64_t count,
                                  std::byte* output) const {
  cuda::embed(stream, weights + ends_.embedding.offset, tokens, count, hidden_, bf16(output));
  if (counts_bytes() > 0) {
    check_cuda(cudaMemsetAsync(output + layout_.counts.count(), 0, 2 * counts_bytes(), stream),
               "routes and probabilities");
  }
}

const std::int32_t* CudaTemplates::find_documents(cudaStream_t stream, const CudaRecord& record,
                                                  std::byte* workspace) const {
  if (record.documents == nullptr) return nullptr;
  auto* starts = reinterpret_cast<std::int32_t*>(workspace + space_.starts.count());
  cuda::document_starts(stream, record.documents, job_.micro_batch, job_.seq_len, starts);
  return starts;
}

void CudaTemplates::rotate(cudaStream_t stream, const std::uint16_t* weights,
                           const CudaRecord& record, Span span, const std::int32_t* starts,
                           std::byte* rotated) const {
  const std::uint16_t* raw = bf16(record.at(layout_.q));
  std::uint16_t* turned = bf16(rotated);
  const cuda::HeadNorms norms{.q = vector_of(weights, slots_.q_norm),
                              .k = vector_of(weights, slots_.k_norm),
                              .eps = static_cast<float>(job_.model.rms_eps)};
  cuda::HeadScales scales;
  if (job_.model.head_norm == planner::HeadNorm::per_head) {
    scales = {.q = fp32(record.at(layout_.q_rstd)), .k = fp32(record.at(layout_.k_rstd))};
  }
  cuda::rope_forward(stream, rope_shape(span, starts), rope_tables(span.first), norms,
                     {raw, raw + query_, qkv_, qkv_}, {turned, turned + query_, qkv_, qkv_},
                     scales);
  check_cuda(cudaMemcpy2DAsync(
                 turned + query_ + key_, 2 * static_cast<std::size_t>(qkv_), raw + query_ + key_,
                 2 * static_cast<std::size_t>(qkv_), 2 * static_cast<std::size_t>(key_),
                 static_cast<std::size_t>(span.count), cudaMemcpyDeviceToDevice, stream),
             "values beside rotated queries and keys");
}

/// Norm and projection to q, k, v.
void CudaTemplates::project_qkv(cudaStream_t stream, const std::uint16_t* weights,
                                const CudaRecord& record, Span span, std::byte* workspace) {
  normalize(stream, {bf16(record.input), weights + slots_.input_norm.offset, span.count},
            workspace);
  gemm_.forward(stream, {span.count, hidden_, qkv_}, workspace + space_.normed.count(),
                weights + slots_.q.weight.offset, vector_of(weights, slots_.q.bias), nullptr,
                record.at(layout_.q), workspace + space_.gemm.count());
}

/// Norm, q, k, v, RoPE and attention: writes the record from q to lse.
void CudaTemplates::attend(cudaStream_t stream, const std::uint16_t* weights,
                           const CudaRecord& record, std::byte* workspace) {
  std::byte* rotated = workspace + space_.rotated.count();
  const std::int32_t* starts = find_documents(stream, record, workspace);
  project_qkv(stream, weights, record, all_tokens(), workspace);
  rotate(stream, weights, record, all_tokens(), starts, rotated);
  attention_->forward(stream, bf16(rotated), bf16(rotated) + query_, bf16(rotated) + query_ + key_,
                      record.at(layout_.attention), fp32(record.at(layout_.lse)),
                      workspace + space_.attention.count(), starts);
}

/// Adds the o projection to the residual stream.
void CudaTemplates::project_out(cudaStream_t stream, const std::uint16_t* weights,
                                const CudaRecord& record, Span span, std::byte* workspace) {
  gemm_.forward(stream, {span.count, query_, hidden_}, record.at(layout_.attention),
                weights + slots_.o.weight.offset, vector_of(weights, slots_.o.bias), record.input,
                record.at(layout_.residual), workspace + space_.gemm.count());
}

void CudaTemplates::block_forward(cudaStream_t stream, const std::uint16_t* weights,
                                  const CudaRecord& record, std::byte* next_input,
                                  std::byte* workspace) {
  attend(stream, weights, record, workspace);
  project_out(stream, weights, record, all_tokens(), workspace);
  feed_forward(stream, weights, record, all_tokens(), next_input, workspace);
  add_balance(stream, record, next_input, workspace);
}

void CudaTemplates::block_recompute(cudaStream_t stream, const std::uint16_t* weights,
                                    const CudaRecord& record, planner::Keep from,
                                    std::byte* workspace) {
  if (from == planner::Keep::all) return;
  if (from == planner::Keep::input) attend(stream, weights, record, workspace);
  project_out(stream, weights, record, all_tokens(), workspace);
  rebuild_mlp(stream, weights, record, workspace);
}

void CudaTemplates::embed_backward(cudaStream_t stream, const std::int32_t* tokens,
                                   const std::byte* stream_gradient, float* gradient,
                                   cuda::Into into) const {
  cuda::embed_backward(stream, tokens, bf16(stream_gradient), tokens_, hidden_, job_.model.vocab,
                       gradient + ends_.embedding.offset, into);
}

}  // namespace sluice::engine
