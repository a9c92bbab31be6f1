#include "tests/engine/reference_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/host/rope.hpp"
#include "engine/host/unit_slots.hpp"

namespace sluice::engine::testing {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

Row rms_norm(const Row& x, const double* weight, double eps) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  const double scale = 1 / std::sqrt(sum / static_cast<double>(x.size()) + eps);
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * weight[i];
  return y;
}

Row project(const Row& x, const Projection& projection, const double* unit) {
  Row y(static_cast<std::size_t>(projection.weight.rows));
  for (std::int64_t r = 0; r < projection.weight.rows; ++r) {
    double sum = projection.bias.exists() ? unit[projection.bias.offset + r] : 0;
    const double* weight = unit + projection.weight.offset + r * projection.weight.cols;
    for (std::size_t c = 0; c < x.size(); ++c) sum += weight[c] * x[c];
    y[static_cast<std::size_t>(r)] = sum;
  }
  return y;
}

/// Sums for transformers' load_balancing_loss_func: experts * sum over experts of the routes to it
/// and its mean probability, both over tokens and blocks.
struct Balance {
  std::vector<double> routes, probability;
  double places = 0;
  void add(const Row& token, const std::vector<std::size_t>& chosen) {
    routes.resize(token.size());
    probability.resize(token.size());
    for (const std::size_t expert : chosen) routes[expert] += 1;
    for (std::size_t i = 0; i < token.size(); ++i) probability[i] += token[i];
    places += 1;
  }
  [[nodiscard]] double loss() const {
    if (routes.empty()) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < routes.size(); ++i) sum += routes[i] * probability[i];
    return sum * static_cast<double>(routes.size()) / (places * places);
  }
};

struct Block {
  const planner::ModelShape& shape;
  const BlockSlots slots;
  const std::vector<double> frequencies;

  /// Applies norm and rotation to every head of one token.
  void rotate(Row& x, std::int64_t position, const Slot& norm, const double* unit) const {
    const auto dim = static_cast<std::size_t>(shape.head_dim);
    for (std::size_t start = 0; start < x.size(); start += dim) {
      Row head(x.begin() + static_cast<std::ptrdiff_t>(start),
               x.begin() + static_cast<std::ptrdiff_t>(start + dim));
      if (norm.exists()) head = rms_norm(head, unit + norm.offset, shape.rms_eps);
      for (std::size_t i = 0; i < dim / 2; ++i) {
        const double angle = static_cast<double>(position) * frequencies[i];
        const double a = head[i];
        const double b = head[i + dim / 2];
        x[start + i] = a * std::cos(angle) - b * std::sin(angle);
        x[start + i + dim / 2] = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }

  Row attend(const Rows& q, const Rows& k, const Rows& v, std::size_t query) const {
    Row out(q[query].size(), 0.0);
    const auto model_length = static_cast<std::int64_t>(k.size());
    const std::int64_t window = shape.kinds.front().window.value_or(model_length);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t source = head / (shape.heads / shape.kv_heads) * shape.head_dim;
      const std::int64_t target = head * shape.head_dim;
      Row weights;
      double total = 0;
      for (std::size_t key = 0; key <= query; ++key) {
        double score = 0;
        for (std::int64_t d = 0; d < shape.head_dim; ++d) {
          score += q[query][static_cast<std::size_t>(target + d)] *
                   k[key][static_cast<std::size_t>(source + d)];
        }
        const bool visible = static_cast<std::int64_t>(query - key) < window;
        const double weight =
            visible ? std::exp(score / std::sqrt(static_cast<double>(shape.head_dim))) : 0;
        weights.push_back(weight);
        total += weight;
      }
      for (std::size_t key = 0; key <= query; ++key) {
        for (std::int64_t d = 0; d < shape.head_dim; ++d) {
          out[static_cast<std::size_t>(target + d)] +=
              weights[key] / total * v[key][static_cast<std::size_t>(source + d)];
        }
      }
    }
    return out;
  }

  void apply(Rows& x, const double* unit, Balance& balance) const {
    Rows q, k, v;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Row y = rms_norm(x[i], unit + slots.input_norm.offset, shape.rms_eps);
      q.push_back(project(y, slots.q, unit));
      k.push_back(project(y, slots.k, unit));
      v.push_back(project(y, slots.v, unit));
      rotate(q.back(), static_cast<std::int64_t>(i), slots.q_norm, unit);
      rotate(k.back(), static_cast<std::int64_t>(i), slots.k_norm, unit);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Row mixed = project(attend(q, k, v, i), slots.o, unit);
      for (std::size_t c = 0; c < mixed.size(); ++c) x[i][c] += mixed[c];
      const Row y = rms_norm(x[i], unit + slots.post_norm.offset, shape.rms_eps);
      const Row down = shape.experts ? mix_experts(y, unit, balance)
                                     : feed_forward(y, slots.gate, slots.up, slots.down, unit);
      for (std::size_t c = 0; c < down.size(); ++c) x[i][c] += down[c];
    }
  }

  static Row feed_forward(const Row& y, const Projection& gate, const Projection& up,
                          const Projection& down, const double* unit) {
    Row wide = project(y, gate, unit);
    const Row factor = project(y, up, unit);
    for (std::size_t c = 0; c < wide.size(); ++c) {
      wide[c] = wide[c] / (1 + std::exp(-wide[c])) * factor[c];
    }
    return project(wide, down, unit);
  }

  /// Sum over the experts of the largest probabilities, weighted by these.
  Row mix_experts(const Row& y, const double* unit, Balance& balance) const {
    Row probability = project(y, {slots.experts.router, {}}, unit);
    double total = 0;
    for (double& logit : probability) total += logit = std::exp(logit);
    for (double& value : probability) value /= total;
    std::vector<std::size_t> order(probability.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(
        order, [&](std::size_t a, std::size_t b) { return probability[a] > probability[b]; });
    order.resize(static_cast<std::size_t>(shape.experts->active));
    balance.add(probability, order);
    double chosen = 0;
    for (const std::size_t expert : order) chosen += probability[expert];
    Row sum(y.size(), 0.0);
    for (const std::size_t expert : order) {
      const auto slot = [&](const Slot& first) {
        return Projection{slots.experts.of(first, static_cast<std::int64_t>(expert)), {}};
      };
      const Row out = feed_forward(y, slot(slots.experts.gate), slot(slots.experts.up),
                                   slot(slots.experts.down), unit);
      const double share = probability[expert] / (shape.experts->normalized ? chosen : 1);
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += share * out[c];
    }
    return sum;
  }
};

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
  const Block block{shape, block_slots(shape),
                    rope_frequencies(shape.rotary.front(), shape.head_dim)};
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
    }
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape.layers); ++layer) {
      block.apply(x, weights[layer + 1].data(), balance);
    }
    for (std::int64_t i = 0; i < model.job.seq_len; ++i) {
      const Row y =
          rms_norm(x[static_cast<std::size_t>(i)], head + ends.final_norm.offset, shape.rms_eps);
      sum += cross_entropy(project(y, lm_head, lm_head_unit),
                           model.targets[static_cast<std::size_t>(start + i)]);
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
