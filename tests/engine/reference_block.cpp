#include "tests/engine/reference_block.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "engine/host/rope.hpp"

namespace sluice::engine::testing {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double reciprocal_rms(const double* x, std::size_t n, double eps) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return 1 / std::sqrt(sum / static_cast<double>(n) + eps);
}

}  // namespace

double capped(double x, std::optional<double> bound) {
  return bound ? *bound * std::tanh(x / *bound) : x;
}

Row normed(const planner::ModelShape& shape, const Row& x, const Slot& weight, const double* unit) {
  if (!weight.exists()) return x;
  const double scale = reciprocal_rms(x.data(), x.size(), shape.rms_eps);
  const double more = shape.norms.one_plus_weight ? 1 : 0;
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = x[i] * scale * (more + unit[weight.offset + static_cast<std::int64_t>(i)]);
  }
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

ReferenceBlock::ReferenceBlock(planner::ModelShape uniform, std::int64_t seq_len)
    : shape_(std::move(uniform)), slots_(block_slots(shape_)) {
  const auto* table = planner::rotary_table(shape_, shape_.kinds.front());
  if (table == nullptr) return;
  frequencies_ = rope_frequencies(*table, shape_.head_dim, seq_len);
  amplitude_ = rope_amplitude(*table);
}

void ReferenceBlock::norm_heads(Row& x, const Slot& norm, const double* unit) const {
  if (shape_.head_norm == planner::HeadNorm::none) return;
  const bool whole = shape_.head_norm == planner::HeadNorm::full_width;
  const std::size_t each = whole ? x.size() : static_cast<std::size_t>(shape_.head_dim);
  const double more = shape_.norms.one_plus_weight ? 1 : 0;
  for (std::size_t start = 0; start < x.size(); start += each) {
    const double scale = reciprocal_rms(x.data() + start, each, shape_.rms_eps);
    for (std::size_t i = 0; i < each; ++i) {
      const double weight =
          norm.exists() ? more + unit[norm.offset + static_cast<std::int64_t>(i)] : 1;
      x[start + i] *= scale * weight;
    }
  }
}

void ReferenceBlock::rotate(Row& x, std::int64_t position) const {
  const std::size_t pairs = frequencies_.size();
  for (std::size_t start = 0; start < x.size();
       start += static_cast<std::size_t>(shape_.head_dim)) {
    for (std::size_t i = start; i < start + pairs; ++i) {
      const double angle = static_cast<double>(position) * frequencies_[i - start];
      const double a = x[i] * amplitude_;
      const double b = x[i + pairs] * amplitude_;
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + pairs] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
}

Row ReferenceBlock::attend(const Rows& q, const Rows& k, const Rows& v, std::size_t query,
                           const double* unit) const {
  Row out(q[query].size(), 0.0);
  const auto length = static_cast<std::int64_t>(k.size());
  const std::int64_t window = shape_.kinds.front().window.value_or(length);
  for (std::int64_t head = 0; head < shape_.heads; ++head) {
    const std::int64_t source = head / (shape_.heads / shape_.kv_heads) * shape_.head_dim;
    const std::int64_t target = head * shape_.head_dim;
    Row weights;
    double total = slots_.sinks.exists() ? std::exp(unit[slots_.sinks.offset + head]) : 0;
    for (std::size_t key = 0; key <= query; ++key) {
      double score = 0;
      for (std::int64_t d = 0; d < shape_.head_dim; ++d) {
        score += q[query][static_cast<std::size_t>(target + d)] *
                 k[key][static_cast<std::size_t>(source + d)];
      }
      score = capped(score * planner::attention_scale(shape_), shape_.scales.attention_softcap);
      const bool visible = static_cast<std::int64_t>(query - key) < window;
      weights.push_back(visible ? std::exp(score) : 0);
      total += weights.back();
    }
    for (std::size_t key = 0; key <= query; ++key) {
      for (std::int64_t d = 0; d < shape_.head_dim; ++d) {
        out[static_cast<std::size_t>(target + d)] +=
            weights[key] / total * v[key][static_cast<std::size_t>(source + d)];
      }
    }
  }
  return out;
}

void ReferenceBlock::apply(Rows& x, const double* unit, Balance& balance) const {
  const planner::Scales& scales = shape_.scales;
  Rows q, k, v, gates;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto position = static_cast<std::int64_t>(i);
    const Row y = normed(shape_, x[i], slots_.norm_before_attention, unit);
    q.push_back(project(y, slots_.q, unit));
    k.push_back(project(y, slots_.k, unit));
    v.push_back(project(y, slots_.v, unit));
    gates.emplace_back();
    if (shape_.attention_gate) gates.back() = project(y, slots_.attention_gate, unit);
    norm_heads(q.back(), slots_.q_norm, unit);
    norm_heads(k.back(), slots_.k_norm, unit);
    rotate(q.back(), position);
    rotate(k.back(), position);
    if (scales.query_growth != 0) {
      const std::int64_t periods = position / scales.query_growth_from;
      for (double& each : q.back()) {
        each *= 1 + scales.query_growth * std::log(1 + static_cast<double>(periods));
      }
    }
  }
  const auto join = [&](Row& stream, const Row& output, const Slot& norm) {
    const Row y = normed(shape_, output, norm, unit);
    for (std::size_t c = 0; c < y.size(); ++c) stream[c] += scales.residual * y[c];
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    Row mixed = attend(q, k, v, i, unit);
    for (std::size_t c = 0; c < gates[i].size(); ++c) mixed[c] *= logistic(gates[i][c]);
    join(x[i], project(mixed, slots_.o, unit), slots_.norm_after_attention);
    const Row y = normed(shape_, x[i], slots_.norm_before_mlp, unit);
    join(x[i],
         shape_.experts ? mix_experts(y, unit, balance)
                        : feed_forward(y, slots_.gate, slots_.up, slots_.down, unit),
         slots_.norm_after_mlp);
  }
}

double ReferenceBlock::activation(double gate, double up) const {
  switch (shape_.activation) {
    case planner::Activation::relu2:
      return up > 0 ? up * up : 0;
    case planner::Activation::gelu_tanh: {
      const double inner = std::sqrt(2 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate);
      return 0.5 * gate * (1 + std::tanh(inner)) * up;
    }
    case planner::Activation::clamped_swiglu:
      gate = std::min(gate, 7.0);
      return (std::clamp(up, -7.0, 7.0) + 1) * gate * logistic(1.702 * gate);
    case planner::Activation::silu:
      break;
  }
  return gate * logistic(gate) * up;
}

Row ReferenceBlock::feed_forward(const Row& y, const Projection& gate, const Projection& up,
                                 const Projection& down, const double* unit) const {
  Row wide = project(y, up, unit);
  const Row gates = gate.weight.exists() ? project(y, gate, unit) : wide;
  for (std::size_t c = 0; c < wide.size(); ++c) wide[c] = activation(gates[c], wide[c]);
  return project(wide, down, unit);
}

std::vector<std::size_t> ReferenceBlock::choose(const Row& scores, const double* unit) const {
  const planner::Experts& experts = *shape_.experts;
  Row values = scores;
  const Slot& correction = slots_.experts.correction_bias;
  for (std::size_t i = 0; i < values.size() && correction.exists(); ++i) {
    values[i] += unit[correction.offset + static_cast<std::int64_t>(i)];
  }
  const auto size = values.size() / static_cast<std::size_t>(experts.groups);
  std::vector<std::pair<double, std::size_t>> groups;
  for (std::size_t group = 0; group < static_cast<std::size_t>(experts.groups); ++group) {
    Row members(values.begin() + static_cast<std::ptrdiff_t>(group * size),
                values.begin() + static_cast<std::ptrdiff_t>((group + 1) * size));
    std::ranges::sort(members, std::greater<>());
    groups.emplace_back(members[0] + (size > 1 ? members[1] : 0), group);
  }
  std::ranges::sort(groups, std::greater<>());
  groups.resize(static_cast<std::size_t>(experts.active_groups));
  std::vector<std::size_t> order;
  for (const auto& [value, group] : groups) {
    for (std::size_t i = group * size; i < (group + 1) * size; ++i) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(static_cast<std::size_t>(experts.active));
  return order;
}

Row ReferenceBlock::mix_experts(const Row& y, const double* unit, Balance& balance) const {
  const planner::Experts& experts = *shape_.experts;
  Row scores = project(y, slots_.experts.router, unit);
  double total = 0;
  for (double& logit : scores) {
    const bool apart = experts.score == planner::RouterScore::sigmoid;
    logit = apart ? logistic(logit) : std::exp(logit);
    total += logit;
  }
  if (experts.score == planner::RouterScore::softmax) {
    for (double& value : scores) value /= total;
  }
  const std::vector<std::size_t> order = choose(scores, unit);
  balance.add(scores, order);
  double chosen = 0;
  for (const std::size_t expert : order) chosen += scores[expert];
  Row sum(y.size(), 0.0);
  const auto add = [&](const Row& out, double share) {
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += share * out[c];
  };
  for (const std::size_t expert : order) {
    const auto at = [&](const Projection& first) {
      return slots_.experts.of(first, static_cast<std::int64_t>(expert));
    };
    add(feed_forward(y, at(slots_.experts.gate), at(slots_.experts.up), at(slots_.experts.down),
                     unit),
        experts.scaling * scores[expert] / (experts.normalized ? chosen : 1));
  }
  if (experts.shared_intermediate > 0) {
    const double share = slots_.shared_switch.exists()
                             ? logistic(project(y, {slots_.shared_switch, {}}, unit).front())
                             : 1;
    add(feed_forward(y, slots_.gate, slots_.up, slots_.down, unit), share);
  }
  return sum;
}

}  // namespace sluice::engine::testing
