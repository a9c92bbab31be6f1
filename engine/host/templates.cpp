#include "engine/host/templates.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include "engine/host/blas.hpp"
#include "engine/host/block_run.hpp"
#include "engine/host/head_run.hpp"

namespace sluice::engine {

namespace {

/// Factor of the embedding's rows, which some models round to the compute type first.
float embedding_factor(const planner::Job& job) {
  auto factor = static_cast<float>(job.model.scales.embedding);
  if (job.model.scales.embedding_rounded) elementwise(job.compute).round(&factor, 1);
  return factor;
}

}  // namespace

HostTemplates::HostTemplates(const planner::Job& job)
    : job_(job),
      record_(planner::block_record(job)),
      block_space_(planner::block_workspace(job)),
      head_space_(planner::head_workspace(job)),
      ends_(end_slots(job.model)),
      embedding_factor_(embedding_factor(job)) {
  prepare_blas();
  for (const planner::RotaryTable& table : job.model.rotary) {
    tables_.push_back(rope_table_values(table, job.model.head_dim, job.seq_len));
  }
  for (std::size_t i = 0; i < job.model.kinds.size(); ++i) {
    planner::ModelShape shape = planner::uniform_shape(job.model, i);
    const std::optional<std::size_t> table = job.model.kinds[i].rotary;
    const std::int64_t turning =
        table ? job.model.rotary[*table].rotated.value_or(job.model.head_dim) : 0;
    BlockSlots slots = block_slots(shape);
    kinds_.push_back({.shape = std::move(shape),
                      .slots = slots,
                      .record = planner::block_record(job, i),
                      .rotary = table ? &tables_[*table] : nullptr,
                      .pairs = turning / 2});
  }
}

namespace {

std::int64_t embedding_row(std::int32_t token) { return token < 0 ? ~token : token; }

/// Size of one of the two sums, fp32 [experts], that the residual stream carries behind its tokens
/// for load balancing; 0 without it.
std::size_t counts_bytes(const planner::Job& job) {
  return job.router_aux_loss_coef ? static_cast<std::size_t>(job.model.experts->count) * 4 : 0;
}

}  // namespace

void HostTemplates::embed_forward(Weights weights, const std::int32_t* tokens, std::int64_t count,
                                  std::byte* output) const {
  const std::int64_t hidden = job_.model.hidden;
  const std::int64_t row_bytes = hidden * job_.compute_element().count();
  const Elementwise& kernels = elementwise(job_.compute);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = ends_.embedding.offset + embedding_row(tokens[i]) * hidden;
    std::byte* out = output + i * row_bytes;
    if (job_.compute != planner::ComputeType::fp32) {
      std::memcpy(out, weights.high + start, static_cast<std::size_t>(row_bytes));
    } else {
      plain_kernels().join(weights.high + start, weights.low + start, hidden,
                           reinterpret_cast<float*>(out));
    }
    if (embedding_factor_ != 1) kernels.scale(out, hidden, embedding_factor_, out);
  }
  std::memset(output + record_.counts.count(), 0, 2 * counts_bytes(job_));
}

void HostTemplates::block_forward(Weights weights, RecordView record, std::byte* next_input,
                                  Workspace workspace) const {
  BlockRun run(*this, weights, record, workspace, job_.micro_tokens());
  run.project_qkv();
  run.attend();
  run.project_residual();
  run.feed_forward(next_input);
  run.add_balance(next_input);
}

void HostTemplates::block_extend(Weights weights, RecordView record, const KeptKeys& kept,
                                 std::byte* next_input, Workspace workspace) const {
  BlockRun run(*this, weights, record, workspace, kept.count);
  run.extend(kept);
  run.feed_forward(next_input);
}

void HostTemplates::block_route(Weights weights, RecordView record, const KeptKeys& kept,
                                std::int32_t* begins, Workspace workspace) const {
  BlockRun run(*this, weights, record, workspace, kept.count);
  run.extend(kept);
  run.project_router();
  run.number_routes(begins);
}

void HostTemplates::block_experts(Weights weights, RecordView record, std::int64_t count,
                                  std::byte* next_input, Workspace workspace) const {
  BlockRun(*this, weights, record, workspace, count).apply_experts(next_input);
}

void HostTemplates::block_recompute(Weights weights, RecordView record, planner::Keep from,
                                    Workspace workspace) const {
  if (from == planner::Keep::all) return;
  BlockRun run(*this, weights, record, workspace, job_.micro_tokens());
  if (from == planner::Keep::input) {
    run.project_qkv();
    run.attend();
  }
  run.project_residual();
  run.rebuild_mlp();
}

void HostTemplates::block_backward(Weights weights, float* gradient, bool first, RecordView record,
                                   std::byte* stream_gradient, Workspace workspace) const {
  const auto padded = static_cast<std::size_t>(layer(record.layer).slots.padded);
  if (first) std::memset(gradient, 0, padded * sizeof(float));
  BlockRun run(*this, weights, record, workspace, job_.micro_tokens());
  run.mlp_backward(gradient, stream_gradient);
  run.output_backward(gradient, stream_gradient);
  run.attention_backward(gradient);
  run.rotary_backward(gradient);
  run.qkv_backward(gradient, stream_gradient);
}

double HostTemplates::loss(const LossArguments& arguments, Workspace workspace) const {
  std::memcpy(arguments.stream_gradient + record_.counts.count(),
              arguments.input + record_.counts.count(), counts_bytes(job_));
  return HeadRun(*this, workspace).loss(arguments);
}

// F = counts / (T blocks), P = probabilities / (T blocks).
double HostTemplates::balance_loss(const std::byte* input) const {
  const auto* counts = reinterpret_cast<const float*>(input + record_.counts.count());
  const auto* probabilities = reinterpret_cast<const float*>(input + record_.probabilities.count());
  double sum = 0;
  for (std::int64_t expert = 0; expert < job_.model.experts->count; ++expert) {
    sum += double{counts[expert]} * double{probabilities[expert]};
  }
  return job_.balance_scale(job_.micro_tokens()) * sum;
}

double HostTemplates::loss_only(const LossArguments& arguments, Workspace workspace) const {
  return HeadRun(*this, workspace).loss_only(arguments);
}

void HostTemplates::logits(Weights head, Weights embed, const std::byte* input, std::int64_t count,
                           float* logits, Workspace workspace) const {
  HeadRun(*this, workspace).logits(head, embed, input, count, logits);
}

void HostTemplates::embed_backward(const std::int32_t* tokens, const std::byte* stream_gradient,
                                   float* gradient, bool first) const {
  if (first) {
    std::memset(gradient, 0, static_cast<std::size_t>(ends_.embed_padded) * sizeof(float));
  }
  const Elementwise& kernels = elementwise(job_.compute);
  const std::int64_t hidden = job_.model.hidden;
  const std::int64_t row_bytes = hidden * job_.compute_element().count();
  for (std::int64_t i = 0; i < job_.micro_tokens(); ++i) {
    float* row = gradient + ends_.embedding.offset + embedding_row(tokens[i]) * hidden;
    const std::byte* from = stream_gradient + i * row_bytes;
    if (embedding_factor_ == 1) {
      kernels.accumulate(row, from, hidden);
    } else {
      kernels.accumulate_scaled(row, from, hidden, embedding_factor_);
    }
  }
}

void combine(float* gradient, const float* addend, std::int64_t elements) {
  plain_kernels().add(gradient, addend, elements);
}

void norm_blocks(const float* gradient, std::int64_t elements, double* blocks) {
  for (std::int64_t block = 0; block < norm_block_count(elements); ++block) {
    const std::int64_t start = block * kNormBlock;
    const std::int64_t left = elements - start;
    blocks[block] =
        plain_kernels().sum_squares(gradient + start, left < kNormBlock ? left : kNormBlock);
  }
}

void round_gradient(const float* gradient, std::int64_t elements, std::uint16_t* wire) {
  plain_kernels().to_bf16(gradient, elements, wire);
}

}  // namespace sluice::engine
