#include "tests/engine/tiny_model.hpp"

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "engine/optimizer/master_weights.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/group_tree.hpp"
#include "tests/engine/guarded_buffer.hpp"

namespace sluice::engine::testing {
namespace {

planner::Job base_job() {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.name = "tiny";
  shape.layers = 2;
  shape.hidden = 8;
  shape.intermediate = 10;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 6;
  shape.vocab = 11;
  shape.rms_eps = 1e-5;
  job.seq_len = 6;
  job.batch_size = 2;
  job.micro_batch = 1;
  job.loss_chunk = 4;  // This does not divide the micro-batch, so the last chunk is short.
  job.compute = planner::ComputeType::fp32;
  return job;
}

struct Planes {
  std::vector<std::uint16_t> high, low;
  explicit Planes(const std::vector<float>& master) {
    for (const float weight : master) {
      const SplitMaster halves = split_master(weight);
      high.push_back(halves.high);
      low.push_back(halves.low);
    }
  }
};

/// Sum of the gradients of all groups of micro-batches along the tree that docs/numerics.md states:
/// both parts of a split at the largest power of two below the number of groups, then their sum.
UnitVectors folded(std::span<const UnitVectors> groups) {
  if (groups.size() == 1) return groups.front();
  std::size_t left = 1;
  while (2 * left < groups.size()) left *= 2;
  UnitVectors sum = folded(groups.first(left));
  const UnitVectors later = folded(groups.subspan(left));
  for (std::size_t unit = 0; unit < sum.size(); ++unit) {
    for (std::size_t i = 0; i < sum[unit].size(); ++i) sum[unit][i] = sum[unit][i] + later[unit][i];
  }
  return sum;
}

/// One training step's buffers.
class Step {
 public:
  Step(const TinyModel& model, planner::Keep keep)
      : model_(model),
        job_(model.job),
        templates_(job_),
        record_(planner::block_record(job_)),
        keep_(keep),
        workspace_(planner::workspace_bytes(job_)),
        stream_(planner::stream_bytes(job_)),
        head_input_(planner::stream_bytes(job_)),
        full_(record_.all_bytes - record_.kept(keep)) {
    for (const auto& unit : model.weights) {
      planes_.emplace_back(unit);
      result_.gradients.emplace_back(unit.size(), std::nanf(""));
    }
    tied_.assign(model.weights[0].size(), std::nanf(""));
    for (std::int64_t layer = 0; layer < job_.model.layers; ++layer) {
      records_.push_back(std::make_unique<GuardedBuffer>(record_.kept(keep)));
    }
  }

  StepResult run() {
    const std::int64_t micro_batches = job_.micro_batches();
    std::vector<UnitVectors> sums;
    for (std::int64_t group = 0; group < job_.groups; ++group) {
      const std::int64_t begin = planner::first_of_group(micro_batches, job_.groups, group);
      const std::int64_t end = planner::first_of_group(micro_batches, job_.groups, group + 1);
      for (std::int64_t micro = begin; micro < end; ++micro) micro_batch(micro, micro == begin);
      sums.push_back(result_.gradients);
      sums.back().push_back(tied_);
    }
    result_.gradients = folded(sums);
    tied_ = std::move(result_.gradients.back());
    result_.gradients.pop_back();
    if (job_.model.tied_head) {
      combine(result_.gradients[0].data(), tied_.data(), static_cast<std::int64_t>(tied_.size()));
    }
    result_.loss /= static_cast<double>(job_.tokens());
    result_.loss_only /= static_cast<double>(job_.tokens());
    result_.guards_intact =
        result_.guards_intact && stream_.intact() && head_input_.intact() && full_.intact();
    for (auto& record : records_) result_.guards_intact &= record->intact();
    return std::move(result_);
  }

 private:
  Weights weights(std::size_t unit) const {
    const bool bf16 = job_.compute == planner::ComputeType::bf16;
    return {planes_[unit].high.data(), bf16 ? nullptr : planes_[unit].low.data()};
  }
  /// The workspace of a new task, with its former contents poisoned.
  Workspace fresh() {
    result_.guards_intact = result_.guards_intact && workspace_.intact();
    workspace_.poison();
    return {workspace_.data(), workspace_.bytes()};
  }
  RecordView view(std::size_t layer) {
    const bool marked = job_.attention == planner::AttentionSpan::document;
    return {.record = records_[layer]->data(),
            .full = full_.data(),
            .kept = record_.kept(keep_),
            .documents = marked ? tokens_ : nullptr};
  }

  void micro_batch(std::int64_t micro, bool first) {
    const std::int32_t* tokens = model_.tokens.data() + micro * job_.micro_tokens();
    tokens_ = tokens;
    const std::size_t layers = records_.size();
    for (auto& record : records_) record->poison();
    templates_.embed_forward(weights(0), tokens, records_[0]->data());
    for (std::size_t layer = 0; layer < layers; ++layer) {
      full_.poison();
      std::byte* next = layer + 1 < layers ? records_[layer + 1]->data() : head_input_.data();
      templates_.block_forward(weights(layer + 1), view(layer), next, fresh());
    }
    const LossArguments arguments{.head = weights(layers + 1),
                                  .embed = weights(0),
                                  .input = head_input_.data(),
                                  .targets = model_.targets.data() + micro * job_.micro_tokens(),
                                  .scale = 1.0f / static_cast<float>(job_.tokens()),
                                  .gradient = result_.gradients[layers + 1].data(),
                                  .tied_gradient = job_.model.tied_head ? tied_.data() : nullptr,
                                  .first = first,
                                  .stream_gradient = stream_.data()};
    result_.loss_only += templates_.loss_only(arguments, fresh());
    result_.loss += templates_.loss(arguments, fresh());
    if (job_.router_aux_loss_coef) {
      result_.balance_loss +=
          templates_.balance_loss(head_input_.data()) / static_cast<double>(job_.micro_batches());
    }
    for (std::size_t layer = layers; layer-- > 0;) {
      full_.poison();
      templates_.block_recompute(weights(layer + 1), view(layer), keep_, fresh());
      templates_.block_backward(weights(layer + 1), result_.gradients[layer + 1].data(), first,
                                view(layer), stream_.data(), fresh());
    }
    templates_.embed_backward(tokens, stream_.data(), result_.gradients[0].data(), first);
    fresh();
  }

  const TinyModel& model_;
  const planner::Job& job_;
  HostTemplates templates_;
  planner::BlockRecord record_;
  planner::Keep keep_;
  GuardedBuffer workspace_, stream_, head_input_, full_;
  std::vector<Planes> planes_;
  std::vector<std::unique_ptr<GuardedBuffer>> records_;
  std::vector<float> tied_;
  const std::int32_t* tokens_ = nullptr;  ///< Tokens of the current micro-batch.
  StepResult result_;
};

}  // namespace

std::vector<std::string> tiny_model_names() {
  return {"llama", "llama_tied", "mistral", "qwen2",           "qwen2_tied",
          "qwen3", "qwen3_moe",  "mixtral", "mixtral_balanced"};
}

TinyModel tiny_model(const std::string& name) {
  planner::Job job = base_job();
  planner::ModelShape& shape = job.model;
  shape.tied_head = name.ends_with("_tied");
  if (name.starts_with("llama")) {
    shape.family = planner::Family::llama;
    shape.rotary.front().scaling = {.kind = planner::RopeScaling::Kind::llama3,
                                    .factor = 4,
                                    .low_freq_factor = 1,
                                    .high_freq_factor = 4,
                                    .original_max_positions = 16};
  } else if (name == "mistral") {
    shape.family = planner::Family::mistral;
    shape.kinds.front().window = 3;
  } else if (name.starts_with("qwen2")) {
    shape.family = planner::Family::qwen2;
    shape.qkv_bias = true;
    shape.o_bias = true;  // qwen2 has no such bias, but config.json can state it.
    shape.mlp_bias = true;
  } else if (name.starts_with("mixtral")) {
    shape.family = planner::Family::mixtral;
    shape.names.experts = planner::kMixtralExperts;
    shape.experts = planner::Experts{.count = 5, .active = 3, .intermediate = 10};
    if (name == "mixtral_balanced") job.router_aux_loss_coef = 0.2;
  } else {
    shape.family = planner::Family::qwen3;
    shape.head_norm = planner::HeadNorm::per_head;
    shape.kv_heads = 1;
  }
  if (name == "qwen3_moe") {
    shape.family = planner::Family::qwen3_moe;
    shape.experts =
        planner::Experts{.count = 5, .active = 3, .intermediate = 10, .normalized = false};
  }
  if (shape.experts) shape.intermediate = shape.experts->active * shape.experts->intermediate;
  return tiny_model(job);
}

TinyModel tiny_model(const planner::Job& job) {
  TinyModel model{job, {}, {}, {}};
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 0.4);
  for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
    const planner::UnitTensors tensors = planner::unit_tensors(job.model, unit);
    std::vector<float> values(static_cast<std::size_t>(tensors.padded_size), 0.0f);
    for (const planner::TensorSpec& tensor : tensors.tensors) {
      const double mean = tensor.name.ends_with("norm.weight") ? 1 : 0;
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        values[static_cast<std::size_t>(tensor.offset + i)] =
            static_cast<float>(mean + normal(random));
      }
    }
    model.weights.push_back(std::move(values));
  }
  std::uniform_int_distribution<std::int32_t> token(0,
                                                    static_cast<std::int32_t>(job.model.vocab) - 1);
  for (std::int64_t i = 0; i < job.tokens(); ++i) {
    model.tokens.push_back(token(random));
    model.targets.push_back(token(random));
  }
  model.targets[1] = -100;
  return model;
}

StepResult run_step(const TinyModel& model, planner::Keep keep) { return Step(model, keep).run(); }

double relative_error(const float* a, const double* b, std::int64_t n) {
  double difference = 0;
  double size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double delta = static_cast<double>(a[i]) - b[i];
    difference += delta * delta;
    size += b[i] * b[i];
  }
  return size == 0 ? std::sqrt(difference) : std::sqrt(difference / size);
}

}  // namespace sluice::engine::testing
