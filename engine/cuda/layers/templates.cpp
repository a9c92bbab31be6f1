#include "engine/cuda/layers/templates.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/embedding.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/rotary.hpp"
#include "engine/cuda/kernels/sinks.hpp"
#include "engine/cuda/layers/views.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/host/rope.hpp"
#include "planner/models/support.hpp"
#include "planner/scratch/tiled_attention.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

const planner::Job& checked(const planner::Job& job) {
  CudaTemplates::require_computable(job);
  return job;
}

}  // namespace

void CudaTemplates::require_computable(const planner::Job& job) {
  if (job.compute == planner::ComputeType::fp32) {
    throw BadRequest(
        "compute: the cuda backend computes in bf16 (fp32 accumulation): use compute=bf16");
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
  require_computable_delta_net(job.model);
  require_computable_latent(job.model);
  require_whole_tensors(job.model);
}

void CudaTemplates::require_computable_delta_net(const planner::ModelShape& shape) {
  if (!shape.delta_net) return;
  const planner::DeltaNet& net = *shape.delta_net;
  for (const auto& [field, dim] : {std::pair{"linear_key_head_dim", net.key_dim},
                                   std::pair{"linear_value_head_dim", net.value_dim}}) {
    if (dim % cuda::kDeltaHeadStep == 0 && dim <= cuda::kMostDeltaHead) continue;
    throw BadRequest(std::string("model.") + field + ": the cuda backend computes multiples of " +
                     std::to_string(cuda::kDeltaHeadStep) + " up to " +
                     std::to_string(cuda::kMostDeltaHead) + ", and the model has " +
                     std::to_string(dim) + ": use --backend host");
  }
  if (planner::delta_row(net) % 8 != 0) {
    throw BadRequest(
        "model.linear_num_value_heads: the cuda backend needs a multiple of 4, and the model has " +
        std::to_string(net.value_heads) + ": use --backend host");
  }
}

void CudaTemplates::require_computable_latent(const planner::ModelShape& shape) {
  if (!shape.latent) return;
  const planner::LatentAttention& latent = *shape.latent;
  const auto require = [](bool holds, const char* field, const std::string& reason) {
    if (holds) return;
    throw BadRequest(std::string("model.") + field + ": the cuda backend computes " + reason +
                     ": use --backend host");
  };
  const std::int64_t narrow = std::max(latent.rank, latent.query_rank.value_or(0));
  require(narrow <= cuda::kMostNormWidth, narrow == latent.rank ? "kv_lora_rank" : "q_lora_rank",
          "norms of up to " + std::to_string(cuda::kMostNormWidth) +
              " elements, and the model has one of " + std::to_string(narrow));
  const auto multiple = [](std::int64_t step, std::int64_t size) {
    return "multiples of " + std::to_string(step) + ", and the model has " + std::to_string(size);
  };
  require(latent.rotated % (2 * cuda::kVector) == 0, "qk_rope_head_dim",
          multiple(2 * cuda::kVector, latent.rotated));
  require(latent.plain % cuda::kVector == 0, "qk_nope_head_dim",
          multiple(cuda::kVector, latent.plain));
  require(latent.value % cuda::kVector == 0, "v_head_dim", multiple(cuda::kVector, latent.value));
  require(latent.value <= shape.head_dim, "v_head_dim",
          "heads of values that are no wider than those of queries (" +
              std::to_string(shape.head_dim) + "), and the model's have " +
              std::to_string(latent.value));
}

/// RoPE tables on the device, one behind the other: the only memory outside the arenas besides the
/// libraries' own.
struct CudaTemplates::Tables {
  explicit Tables(const planner::Job& job) {
    std::vector<float> values;
    std::vector<std::size_t> places;
    for (const planner::RotaryTable& table : job.model.rotary) {
      const RopeTableValues each = rope_table_values(table, job.model.head_dim, job.seq_len);
      for (const std::vector<float>* half : {&each.cos, &each.sin}) {
        places.push_back(values.size());
        values.insert(values.end(), half->begin(), half->end());
      }
    }
    check(Bytes(static_cast<std::int64_t>(values.size() * sizeof(float))) ==
              planner::rope_table_bytes(job),
          "RoPE tables take what the planner counts");
    check_cuda(cudaMalloc(&memory, values.size() * sizeof(float)), "RoPE tables");
    check_cuda(
        cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
        "RoPE tables");
    const auto* first = static_cast<const float*>(memory);
    for (std::size_t i = 0; i < places.size(); i += 2) {
      views.push_back({.cos = first + places[i], .sin = first + places[i + 1]});
    }
  }
  ~Tables() { cudaFree(memory); }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  void* memory = nullptr;
  std::vector<cuda::RopeTables> views;  ///< The tables, as the model numbers them.
};

namespace {

float embedding_factor(const planner::Scales& scales) {
  const auto factor = static_cast<float>(scales.embedding);
  if (!scales.embedding_rounded) return factor;
  // To the nearest bf16, ties to even.
  const auto bits = std::bit_cast<std::uint32_t>(factor);
  return std::bit_cast<float>((bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U);
}

cuda::LogitChange logit_change(const planner::Scales& scales) {
  return {.factor = static_cast<float>(scales.logits),
          .bound = static_cast<float>(scales.logits_softcap.value_or(0))};
}

}  // namespace

CudaTemplates::CudaTemplates(const planner::Job& job, std::optional<GemmTable> gemm)
    : job_(checked(job)),
      layout_(planner::block_record(job)),
      space_(planner::cuda_workspace(job)),
      ends_(end_slots(job.model)),
      tokens_(job.micro_tokens()),
      hidden_(job.model.hidden),
      query_(job.model.heads * job.model.head_dim),
      key_(job.model.kv_heads * job.model.head_dim),
      qkv_(query_ + 2 * key_),
      embedding_factor_(embedding_factor(job.model.scales)),
      residual_factor_(static_cast<float>(job.model.scales.residual)),
      logit_change_(logit_change(job.model.scales)),
      gemm_(std::move(gemm)),
      tables_(std::make_unique<Tables>(job)),
      fp8_weights_(std::make_unique<Fp8Weights>(job)) {
  make_layers();
}

/// The attention of layers of one kind; kinds of equal shapes share it.
const CudaAttention* CudaTemplates::attention_of(const planner::Job& uniform) {
  if (uniform.sequence_chunk) return nullptr;
  const planner::AttentionShape shape = planner::attention_shape(uniform);
  const auto found =
      std::ranges::find(attentions_, shape, [](const auto& each) { return each.first; });
  if (found != attentions_.end()) return found->second.get();
  attentions_.emplace_back(shape, std::make_unique<CudaAttention>(cudnn_, shape));
  const CudaAttention* made = attentions_.back().second.get();
  check(std::max(made->forward_workspace(), made->backward_workspace()) <=
            planner::attention_scratch(shape),
        "attention's workspace is within its bound");
  return made;
}

void CudaTemplates::make_layers() {
  const bool documents = job_.attention == planner::AttentionSpan::document;
  for (std::size_t kind = 0; kind < job_.model.kinds.size(); ++kind) {
    planner::Job uniform = job_;
    uniform.model = planner::uniform_shape(job_.model, kind);
    const planner::LayerKind& of = uniform.model.kinds.front();
    CudaLayer layer{.shape = uniform.model,
                    .slots = block_slots(uniform.model),
                    .layout = planner::block_record(job_, kind),
                    .tables = {}};
    if (of.rotary) {
      const planner::RotaryTable& table = job_.model.rotary[*of.rotary];
      layer.tables = tables_->views[*of.rotary];
      layer.pairs = table.rotated.value_or(job_.model.head_dim) / 2;
    }
    if (documents && of.window && *of.window < job_.seq_len) layer.window_in_documents = of.window;
    // Kinds without a layer have no attention either.
    if (planner::layers_of_kind(job_.model, kind) > 0 && !layer.is_delta_net()) {
      layer.attention = attention_of(uniform);
    }
    layer.unwritten = unwritten_ranges(uniform.model);
    check_layer(layer);
    layers_.push_back(std::move(layer));
  }
}

void CudaTemplates::check_layer(const CudaLayer& layer) const {
  const BlockSlots& slots = layer.slots;
  const auto follows = [](const Slot& one, const Slot& other) {
    return !one.exists() || other.offset == one.offset + one.size();
  };
  const bool apart = slots.latent.exist();  // Queries have a product of their own.
  check((apart || follows(slots.q.weight, slots.k.weight)) &&
            follows(slots.k.weight, slots.v.weight) &&
            (apart || follows(slots.q.bias, slots.k.bias)) && follows(slots.k.bias, slots.v.bias) &&
            follows(slots.gate.weight, slots.up.weight) &&
            follows(slots.gate.bias, slots.up.bias) &&
            follows(slots.experts.gate.weight, slots.experts.up.weight) &&
            follows(slots.experts.gate.bias, slots.experts.up.bias),
        "q, k, v and gate, up are adjacent");
  check(!slots.delta.exist() || (follows(slots.v.weight, slots.attention_gate.weight) &&
                                 follows(slots.attention_gate.weight, slots.delta.beta.weight) &&
                                 follows(slots.delta.beta.weight, slots.delta.decay.weight)),
        "the projections of a gated delta net are adjacent");
  const std::int64_t experts = layer.shape.experts ? layer.shape.experts->count : 0;
  const cuda::RopeShape heads = rope_shape(all_tokens(), nullptr);
  const std::int64_t wide = 2 * layer.shape.intermediate;
  const Bytes turning =
      layer.turns_generally(job_.seq_len)
          ? cuda::rotary_backward_workspace({.heads = heads, .norm = layer.shape.head_norm})
          : cuda::rope_backward_workspace(heads);
  const std::int64_t narrow =
      std::max({hidden_, slots.latent.query_norm.cols, slots.latent.key_norm.cols});
  check(std::max({cuda::norm_backward_workspace(tokens_, narrow), turning,
                  cuda::sinks_workspace(
                      {job_.micro_batch, job_.seq_len, job_.model.heads, job_.model.head_dim}),
                  cuda::column_sum_workspace(
                      tokens_, std::max({qkv_, wide, narrow, planner::router_row(experts)}))}) <=
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

std::string CudaTemplates::numerics() const {
  std::string attention;
  for (const auto& [shape, each] : attentions_) {
    attention += (attention.empty() ? "" : " and ") + each->engines();
  }
  return gemm_.numerics(gemm_keys(job_)) + ", cudnn " + std::to_string(cudnn_.version()) +
         ", attention " + (attention.empty() ? "over kept keys" : attention) + ", kernels 1" +
         (job_.model.experts ? ", experts 1" : "") + (job_.model.delta_net ? ", delta net 1" : "") +
         (job_.model.latent ? ", latent 1" : "") +
         (job_.optimizer.kind == planner::OptimizerKind::muon ? ", muon 1" : "");
}

void CudaTemplates::embed_forward(cudaStream_t stream, const std::uint16_t* weights,
                                  const std::int32_t* tokens, std::int64_t count,
                                  std::byte* output) const {
  fp8_weights_->forget();
  cuda::embed(stream, weights + ends_.embedding.offset, tokens, count, hidden_, bf16(output),
              embedding_factor_);
  if (counts_bytes() > 0) {
    check_cuda(cudaMemsetAsync(output + layout_.counts.count(), 0, 2 * counts_bytes(), stream),
               "routes and probabilities");
  }
}

void CudaTemplates::block_forward(cudaStream_t stream, const std::uint16_t* weights,
                                  const CudaRecord& record, std::byte* next_input,
                                  std::byte* workspace) {
  fp8_weights_->begin(weights, record);
  attend(stream, weights, record, workspace);
  project_out(stream, weights, record, all_tokens(), workspace);
  feed_forward(stream, weights, record, all_tokens(), next_input, workspace);
  add_balance(stream, record, next_input, workspace);
}

void CudaTemplates::block_recompute(cudaStream_t stream, const std::uint16_t* weights,
                                    const CudaRecord& record, planner::Keep from,
                                    std::byte* workspace) {
  if (from == planner::Keep::all) return;
  fp8_weights_->begin(weights, record);
  if (from == planner::Keep::input) attend(stream, weights, record, workspace);
  project_out(stream, weights, record, all_tokens(), workspace);
  rebuild_mlp(stream, weights, record, workspace);
}

void CudaTemplates::embed_backward(cudaStream_t stream, const std::int32_t* tokens,
                                   const std::byte* stream_gradient, float* gradient,
                                   cuda::Into into) const {
  fp8_weights_->forget();
  cuda::embed_backward(stream, tokens, bf16(stream_gradient), tokens_, hidden_, job_.model.vocab,
                       gradient + ends_.embedding.offset, into, embedding_factor_);
}

}  // namespace sluice::engine
