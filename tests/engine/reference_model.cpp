#include "tests/engine/reference_model.hpp"

#include <cmath>

#include "engine/host/unit_slots.hpp"
#include "tests/engine/reference_block.hpp"

namespace sluice::engine::testing {
namespace {

double cross_entropy(const Row& logits, std::int32_t target) {
  if (target < 0) return 0;
  double total = 0;
  for (const double logit : logits) total += std::exp(logit);
  return std::log(total) - logits[static_cast<std::size_t>(target)];
}

struct Losses {
  double entropy, balance;
  [[nodiscard]] double sum() const { return entropy + balance; }
};

Losses losses_of(const TinyModel& model, const UnitDoubles& weights) {
  const planner::ModelShape& shape = model.job.model;
  std::vector<ReferenceBlock> blocks;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    blocks.emplace_back(planner::uniform_shape(shape, planner::kind_index(shape, layer)),
                        model.job.seq_len);
  }
  const EndSlots ends = end_slots(shape);
  const double* head = weights.back().data();
  const Projection lm_head{shape.tied_head ? ends.embedding : ends.lm_head, {}};
  const double* lm_head_unit = shape.tied_head ? weights[0].data() : head;
  double sum = 0;
  double balances = 0;
  for (std::int64_t start = 0; start < model.job.tokens(); start += model.job.seq_len) {
    Balance balance;  // Sums over the micro-batch, which has one sequence if the loss is asked for.
    Rows x;
    for (std::int64_t i = 0; i < model.job.seq_len; ++i) {
      const std::int32_t token = model.tokens[static_cast<std::size_t>(start + i)];
      const double* row = weights[0].data() + ends.embedding.offset + token * shape.hidden;
      x.emplace_back(row, row + shape.hidden);
      for (double& each : x.back()) each *= shape.scales.embedding;
    }
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape.layers); ++layer) {
      blocks[layer].apply(x, weights[layer + 1].data(), balance);
    }
    for (std::int64_t i = 0; i < model.job.seq_len; ++i) {
      const Row y = normed(shape, x[static_cast<std::size_t>(i)], ends.final_norm, head);
      Row logits = project(y, lm_head, lm_head_unit);
      for (double& logit : logits) {
        logit = capped(logit * shape.scales.logits, shape.scales.logits_softcap);
      }
      sum += cross_entropy(logits, model.targets[static_cast<std::size_t>(start + i)]);
    }
    balances += balance.loss();
  }
  return Losses{.entropy = sum / static_cast<double>(model.job.tokens()),
                .balance = model.job.router_aux_loss_coef.value_or(0) * balances /
                           static_cast<double>(model.job.micro_batches())};
}

}  // namespace

UnitDoubles to_double(const UnitVectors& weights) {
  UnitDoubles result;
  for (const auto& unit : weights) result.emplace_back(unit.begin(), unit.end());
  return result;
}

double reference_loss(const TinyModel& model, const UnitDoubles& weights) {
  return losses_of(model, weights).entropy;
}

double reference_balance_loss(const TinyModel& model, const UnitDoubles& weights) {
  return losses_of(model, weights).balance;
}

UnitDoubles reference_gradients(const TinyModel& model) {
  constexpr double kStep = 1e-4;
  UnitDoubles weights = to_double(model.weights);
  UnitDoubles gradients = weights;
  for (std::size_t unit = 0; unit < weights.size(); ++unit) {
    for (double& gradient : gradients[unit]) gradient = 0;
    for (const planner::TensorSpec& tensor : planner::unit_tensors(model.job.model, unit).tensors) {
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        double& weight = weights[unit][static_cast<std::size_t>(tensor.offset + i)];
        const double center = weight;
        weight = center + kStep;
        const double above = losses_of(model, weights).sum();
        weight = center - kStep;
        const double below = losses_of(model, weights).sum();
        weight = center;
        gradients[unit][static_cast<std::size_t>(tensor.offset + i)] =
            (above - below) / (2 * kStep);
      }
    }
  }
  return gradients;
}

}  // namespace sluice::engine::testing
