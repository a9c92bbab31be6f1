#include "tests/engine/run_plan.hpp"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <ostream>

#include "engine/host/host_device.hpp"
#include "planner/layout/laid_out.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::engine::test {
namespace {

planner::Job small_job() {
  planner::Job job = planner::test::tiny_job();
  job.model.layers = 3;
  job.model.hidden = 32;
  job.model.intermediate = 48;
  job.model.heads = 4;
  job.model.kv_heads = 2;
  job.model.head_dim = 8;
  job.model.vocab = 64;
  job.seq_len = 16;
  job.batch_size = 4;
  job.micro_batch = 1;
  job.loss_chunk = 8;
  job.optimizer.lr = 1e-2;
  return job;
}

std::string bits(double value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016" PRIx64, std::bit_cast<std::uint64_t>(value));
  return text;
}

/// Adds jobs whose models have layers of several kinds.
void add_jobs_of_kinds(std::vector<NamedJob>& jobs) {
  using planner::LayerKind;
  planner::Job job = small_job();
  job.compute = planner::ComputeType::bf16;
  job.model.tied_head = true;
  job.model.norms = {.after_attention = true, .after_mlp = true, .one_plus_weight = true};
  job.model.head_norm = planner::HeadNorm::full_width;
  job.model.activation = planner::Activation::gelu_tanh;
  job.model.scales = {.embedding = 3, .attention = 0.3, .residual = 0.7, .logits_softcap = 9};
  job.model.rotary.push_back({.theta = 1e6, .rotated = 4});
  job.model.kinds = {LayerKind{.window = 5}, LayerKind{.rotary = 1}};
  job.model.kind_of_layer = {0, 1, 0};
  job.attention = planner::AttentionSpan::document;
  jobs.push_back({"bf16, kinds, norms after, documents, clip", job});

  job = small_job();
  job.compute = planner::ComputeType::fp32;
  job.model.attention_sinks = job.model.mlp_bias = job.model.qkv_bias = true;
  job.model.activation = planner::Activation::clamped_swiglu;
  job.model.experts =
      planner::Experts{.count = 4, .active = 2, .intermediate = 16, .router_bias = true};
  job.model.intermediate = 32;
  job.model.kinds = {LayerKind{.window = 5}, LayerKind{}};
  job.model.kind_of_layer = {0, 1, 0};
  jobs.push_back({"fp32, sinks, biased experts, clip", job});

  job = small_job();
  job.compute = planner::ComputeType::bf16;
  job.model.experts = planner::Experts{.count = 4,
                                       .active = 2,
                                       .intermediate = 16,
                                       .score = planner::RouterScore::sigmoid,
                                       .correction_bias = true,
                                       .scaling = 1.5,
                                       .shared_intermediate = 24};
  job.model.intermediate = 32;
  job.model.kinds = {LayerKind{.dense_intermediate = 40}, LayerKind{}};
  job.model.kind_of_layer = {0, 1, 1};
  jobs.push_back({"bf16, dense layer first, shared expert, clip", job});
}

}  // namespace

planner::Job fp8_job() {
  planner::Job job = small_job();
  job.compute = planner::ComputeType::fp8;
  job.model.hidden = job.model.intermediate = 128;
  job.model.heads = job.model.kv_heads = 2;
  job.model.head_dim = 64;
  job.model.qkv_bias = true;
  job.seq_len = 128;
  job.batch_size = 2;
  return job;
}

void RunTokens::read(std::int64_t position, std::span<std::int32_t> inputs,
                     std::span<std::int32_t> targets) {
  synthetic_.read(position, inputs, targets);
  if (job_.attention == planner::AttentionSpan::sequence) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) % job_.seq_len;
    const std::int64_t sequence = position + static_cast<std::int64_t>(i) / job_.seq_len;
    const bool padding = at >= job_.seq_len - sequence % 3;
    if (at % 7 == 0) inputs[i] = ~inputs[i];
    if (at % 3 == 0) targets[i] = kMaskedTarget;
    if (padding) targets[i] = kPaddingTarget;
  }
}

std::vector<NamedJob> small_jobs() {
  using planner::ComputeType;
  using planner::GradientWire;
  std::vector<NamedJob> jobs;
  planner::Job job = small_job();
  job.compute = ComputeType::fp32;
  jobs.push_back({"fp32, clip", job});

  job.model.tied_head = true;
  job.model.qkv_bias = true;
  job.optimizer.clip.reset();
  jobs.push_back({"fp32, tied, biases, no clip", job});

  job = small_job();
  job.compute = ComputeType::bf16;
  job.model.head_norm = planner::HeadNorm::per_head;
  job.optimizer.clip = 0.5;
  jobs.push_back({"bf16, q/k norm, clip", job});

  job.model.tied_head = true;
  job.gradient_wire = GradientWire::bf16;
  jobs.push_back({"bf16, tied, bf16 wire, clip", job});

  job = small_job();
  job.compute = ComputeType::bf16;
  job.gradient_wire = GradientWire::bf16;
  job.model.kinds.front().window = 5;
  job.optimizer.clip.reset();
  job.batch_size = 8;
  job.micro_batch = 2;
  jobs.push_back({"bf16, window, bf16 wire, no clip", job});

  job = small_job();
  job.compute = ComputeType::bf16;
  job.attention = planner::AttentionSpan::document;
  job.optimizer.clip = 0.5;
  jobs.push_back({"bf16, documents, masks, clip", job});

  job = small_job();
  job.compute = ComputeType::bf16;
  job.model.family = planner::Family::mixtral;
  job.model.names.experts = planner::kMixtralExperts;
  job.model.experts = planner::Experts{.count = 5, .active = 2, .intermediate = 24};
  job.model.intermediate = 48;
  job.router_aux_loss_coef = 0.02;
  job.batch_size = 8;
  job.micro_batch = 2;
  jobs.push_back({"bf16, experts, balanced, clip", job});

  job = small_job();
  job.compute = ComputeType::bf16;
  job.model.mlp_bias = true;
  job.mlp_chunk = 12;  // 32 tokens make chunks of 12, 12 and 8.
  job.batch_size = 8;
  job.micro_batch = 2;
  jobs.push_back({"bf16, MLP in chunks, biases, clip", job});
  add_jobs_of_kinds(jobs);
  return jobs;
}

planner::StepGraph graph_of(const planner::Job& job, const planner::Plan& plan) {
  return planner::build_step_graph(job, plan, planner::test::RoundCosts());
}

std::unique_ptr<Session> make_session(const planner::Job& job, const planner::StepGraph& graph,
                                      const planner::Plan& plan, TokenSource& tokens,
                                      Observer* observer, const DiskPlace& place,
                                      const InitialWeights& weights) {
  const double lr = job.optimizer.lr;
  return std::make_unique<Session>(
      job, graph, rank_devices(job, graph, plan, {observer}), tokens,
      [lr](std::int64_t step) { return lr / static_cast<double>(step); }, weights, place);
}

SessionRanks rank_devices(const planner::Job& job, const planner::StepGraph& graph,
                          const planner::Plan& plan, std::vector<Observer*> observers,
                          const RankLinks& links) {
  const ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  const LinkPace fast{BytesPerSecond(1e10), Seconds(0)};
  SessionRanks ranks;
  ranks.observers = std::move(observers);
  ranks.links = links;
  for (std::int64_t i = 0; i < (links.control == nullptr ? graph.ranks : 1); ++i) {
    ranks.devices.push_back(std::make_unique<HostDevice>(
        job, HostDeviceSettings{.arenas = sizes,
                                .capacity = sizes,
                                .h2d = fast,
                                .d2h = fast,
                                .threads = static_cast<int>(plan.threads)}));
  }
  return ranks;
}

std::string bits_of(const StepResult& result) {
  return bits(result.loss) + "/" + bits(result.grad_norm);
}

Outcome run_plan(const planner::Job& job, const planner::Plan& plan, std::int64_t steps,
                 const DiskPlace& place) {
  RunTokens tokens(job);
  const planner::StepGraph graph = graph_of(job, plan);
  const auto session = make_session(job, graph, plan, tokens, nullptr, place);
  Outcome outcome;
  session->run_to(steps, [&](std::int64_t, const StepResult& result) {
    outcome.losses.push_back(bits_of(result));
  });
  outcome.weights_sha256 = session->state().weights_sha256();
  outcome.state_sha256 = session->state().state_sha256();
  // Five windows: some jobs' last micro-batch is not full, nor is the last round of some plans.
  outcome.validation =
      bits(session->evaluation()
               .mean_loss(5,
                          [&tokens](std::int64_t first, std::span<std::int32_t> inputs,
                                    std::span<std::int32_t> targets) {
                            const std::size_t length = inputs.size();
                            tokens.read(1000 + first, inputs.first(length), targets.first(length));
                          })
               .value());
  return outcome;
}

void PrintTo(const Outcome& outcome, std::ostream* out) {
  for (const std::string& each : outcome.losses) *out << each << ' ';
  *out << "weights " << outcome.weights_sha256.substr(0, 12) << ", state "
       << outcome.state_sha256.substr(0, 12) << ", validation " << outcome.validation;
}

std::string describe(const planner::Plan& plan) {
  std::string text = "weight_buffers " + std::to_string(plan.weight_buffers) +
                     ", gradient_buffers " + std::to_string(plan.gradient_buffers) +
                     ", activation_buffers " + std::to_string(plan.activation_buffers) +
                     ", state_buffers " + std::to_string(plan.state_buffers) + ", prefetch_depth " +
                     std::to_string(plan.prefetch_depth) + ", rounds " +
                     std::to_string(plan.rounds) + ", copy_chunk " +
                     std::to_string(plan.copy_chunk.count()) + ", threads " +
                     std::to_string(plan.threads) + ", ranks " + std::to_string(plan.ranks) +
                     ", exchange_piece " + std::to_string(plan.exchange_piece.count()) +
                     ", receive_buffers " + std::to_string(plan.receive_buffers) + ", hosts " +
                     std::to_string(plan.hosts) + ", gather " + to_string(plan.gather) + ";";
  for (const planner::UnitPlan& unit : plan.units) {
    text += std::string(" [") + to_string(unit.weights) + ' ' + to_string(unit.gradients) + ' ' +
            to_string(unit.state) + ' ' + to_string(unit.keep) + ' ' + to_string(unit.keep_tier) +
            ' ' + to_string(unit.executor) + ' ' + to_string(unit.when) + ' ' +
            to_string(unit.staging) + ']';
  }
  return text;
}

}  // namespace sluice::engine::test
