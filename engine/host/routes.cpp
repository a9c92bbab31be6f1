#include "engine/host/routes.hpp"

#include <algorithm>
#include <bitset>
#include <limits>

#include "engine/host/elementwise.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Largest number of groups of a model's experts.
constexpr std::size_t kMostGroups = 256;

template <class T>
T* at(std::byte* workspace, Bytes offset) {
  return reinterpret_cast<T*>(workspace + offset.count());
}

}  // namespace

Routes::Routes(const planner::Job& job, const planner::RouteWorkspace& space, std::byte* workspace,
               std::int64_t tokens)
    : model_(*job.model.experts),
      tokens_(tokens),
      experts_(job.model.experts->count),
      active_(job.model.experts->active),
      expert_(at<std::int32_t>(workspace, space.expert)),
      row_(at<std::int32_t>(workspace, space.row)),
      token_(at<std::int32_t>(workspace, space.token)),
      begin_(at<std::int32_t>(workspace, space.begin)),
      share_(at<float>(workspace, space.share)),
      d_share_(at<float>(workspace, space.d_share)) {
  check(model_.groups <= static_cast<std::int64_t>(kMostGroups), "experts have few groups");
}

void Routes::score(const float* logits, float* probability) const {
  if (model_.score == planner::RouterScore::sigmoid) {
    plain_kernels().logistic(logits, experts_, probability);
    return;
  }
  std::copy_n(logits, experts_, probability);
  (void)plain_kernels().softmax(probability, experts_, 0, experts_, 1.0f);
}

float Routes::group_value(const float* values, std::int64_t group) const {
  const std::int64_t size = experts_ / model_.groups;
  float best = -std::numeric_limits<float>::infinity();
  float second = best;
  for (std::int64_t i = group * size; i < (group + 1) * size; ++i) {
    second = std::max(second, std::min(best, values[i]));
    best = std::max(best, values[i]);
  }
  const bool pairs = model_.group_score == planner::GroupScore::two_best && size > 1;
  return pairs ? best + second : best;
}

void Routes::leave_groups(float* values) const {
  const std::int64_t size = experts_ / model_.groups;
  std::bitset<kMostGroups> left;
  for (std::int64_t group = 0; group < model_.groups; ++group) {
    const float value = group_value(values, group);
    std::int64_t better = 0;
    for (std::int64_t other = 0; other < model_.groups; ++other) {
      const float rival = group_value(values, other);
      better += rival > value || (rival == value && other < group) ? 1 : 0;
    }
    left[static_cast<std::size_t>(group)] = better >= model_.active_groups;
  }
  for (std::int64_t group = 0; group < model_.groups; ++group) {
    if (!left[static_cast<std::size_t>(group)]) continue;
    std::fill_n(values + group * size, size, -std::numeric_limits<float>::infinity());
  }
}

void Routes::choose(const float* logits, const float* correction, float* probability) {
  // The order of a softmax is that of its logits.
  const bool by_logits =
      model_.score == planner::RouterScore::softmax && correction == nullptr && model_.groups == 1;
  for (std::int64_t token = 0; token < tokens_; ++token) {
    const float* values = logits + token * experts_;
    if (!by_logits) {
      score(values, probability);
      if (correction != nullptr) plain_kernels().add(probability, correction, experts_);
      if (model_.groups > 1) leave_groups(probability);
      values = probability;
    }
    choose_experts(values, expert_ + token * active_);
  }
  number_rows();
  const auto factor = static_cast<float>(model_.scaling);
  for (std::int64_t token = 0; token < tokens_; ++token) {
    score(logits + token * experts_, probability);
    const float total = model_.normalized ? chosen_probability(token, probability) : 1.0f;
    for (std::int64_t i = token * active_; i < (token + 1) * active_; ++i) {
      share_[row_[i]] = factor * (probability[expert_[i]] / total);
    }
  }
}

template <class Value>
float Routes::sum(std::int64_t token, const Value& value) const {
  float total = 0;
  for (std::int64_t i = token * active_; i < (token + 1) * active_; ++i) {
    total += value(expert_[i], row_[i]);
  }
  return total;
}

float Routes::chosen_probability(std::int64_t token, const float* probability) const {
  return sum(token, [&](std::int32_t expert, std::int32_t) { return probability[expert]; });
}

// share = f p / sum of the chosen p:  dp = (f d_share - sum of d_share share) / sum of the chosen
// p.
void Routes::probability_gradient(std::int64_t token, const float* probability,
                                  float* d_probability) const {
  std::fill_n(d_probability, experts_, 0.0f);
  const auto factor = static_cast<float>(model_.scaling);
  float mean = 0;
  float total = 1;
  if (model_.normalized) {
    mean = sum(token, [&](std::int32_t, std::int32_t row) { return d_share_[row] * share_[row]; });
    total = chosen_probability(token, probability);
  }
  for (std::int64_t i = token * active_; i < (token + 1) * active_; ++i) {
    d_probability[expert_[i]] = (factor * d_share_[row_[i]] - mean) / total;
  }
}

/// Chooses experts in ascending order, so that sums over a token's experts have one order.
void Routes::choose_experts(const float* values, std::int32_t* chosen) const {
  for (std::int64_t i = 0; i < active_; ++i) {
    std::int64_t best = -1;
    for (std::int64_t expert = 0; expert < experts_; ++expert) {
      const bool taken = std::find(chosen, chosen + i, expert) != chosen + i;
      if (!taken && (best < 0 || values[expert] > values[best])) best = expert;
    }
    chosen[i] = static_cast<std::int32_t>(best);
  }
  std::sort(chosen, chosen + active_);
}

void Routes::number_rows() {
  std::fill_n(begin_, experts_ + 1, 0);
  const std::int64_t routes = tokens_ * active_;
  for (std::int64_t i = 0; i < routes; ++i) ++begin_[expert_[i] + 1];
  for (std::int64_t expert = 0; expert < experts_; ++expert) begin_[expert + 1] += begin_[expert];
  // begin_[e] moves to the end of group e, which is the begin of the next, and then back.
  for (std::int64_t i = 0; i < routes; ++i) {
    row_[i] = begin_[expert_[i]]++;
    token_[row_[i]] = static_cast<std::int32_t>(i / active_);
  }
  for (std::int64_t expert = experts_; expert > 0; --expert) begin_[expert] = begin_[expert - 1];
  begin_[0] = 0;
}

}  // namespace sluice::engine
