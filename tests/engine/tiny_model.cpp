#include "tests/engine/tiny_model.hpp"

#include <algorithm>
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
    const bool bf16 = job_.compute != planner::ComputeType::fp32;
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
            .layer = static_cast<std::int64_t>(layer),
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
    if (micro == 0) find_logits();
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

  void find_logits() {
    const std::int64_t tokens = job_.micro_tokens();
    const std::int64_t row = job_.model.hidden * job_.compute_element().count();
    result_.logits.resize(static_cast<std::size_t>(tokens * job_.model.vocab));
    const std::size_t head = records_.size() + 1;
    for (std::int64_t begin = 0; begin < tokens; begin += job_.loss_chunk) {
      templates_.logits(weights(head), weights(0), head_input_.data() + begin * row,
                        std::min(job_.loss_chunk, tokens - begin),
                        result_.logits.data() + begin * job_.model.vocab, fresh());
    }
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

TinyModel tiny_model(const planner::Job& job) {
  TinyModel model{job, {}, {}, {}};
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 0.4);
  for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
    const planner::UnitTensors tensors = planner::unit_tensors(job.model, unit);
    std::vector<float> values(static_cast<std::size_t>(tensors.padded_size), 0.0f);
    for (const planner::TensorSpec& tensor : tensors.tensors) {
      const bool factor = tensor.name.ends_with("norm.weight") && !job.model.norms.one_plus_weight;
      const double mean = factor ? 1 : 0;
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
