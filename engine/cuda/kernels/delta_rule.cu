#include "engine/cuda/kernels/delta_rule.hpp"
#include "engine/cuda/kernels/delta_stages.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

void check_rule(const DeltaRule& rule) {
  const planner::DeltaNet& net = rule.net;
  const auto fits = [](std::int64_t dim) {
    return dim > 0 && dim % kDeltaHeadStep == 0 && dim <= kMostDeltaHead;
  };
  check(fits(net.key_dim) && fits(net.value_dim),
        "heads of a gated delta net are multiples of 16 elements, at most 128");
  check(net.key_heads > 0 && net.value_heads % net.key_heads == 0 && rule.length > 0 &&
            rule.sequences > 0 && rule.sequences * rule.length <= INT32_MAX,
        "each key head of a gated delta net serves value heads");
  check(rule.part.sequences > 0 && rule.part.key_heads > 0 &&
            rule.sequences % rule.part.sequences == 0 && net.key_heads % rule.part.key_heads == 0,
        "parts divide sequences and heads");
  check(aligned(rule.mixed), "the operands of the rule are 16-byte aligned");
}

/// Calls body(view) for every part.
template <class Body>
void for_parts(const DeltaRule& rule, const Body& body) {
  const planner::DeltaNet& net = rule.net;
  const planner::DeltaRuleSpace space = planner::delta_rule_space(net, rule.part, rule.length);
  const auto at = [&](Bytes offset) {
    return reinterpret_cast<float*>(rule.scratch + offset.count());
  };
  const std::int64_t served = net.value_heads / net.key_heads;
  DeltaPartView view{.key_dim = static_cast<int>(net.key_dim),
                     .value_dim = static_cast<int>(net.value_dim),
                     .key_heads = static_cast<int>(net.key_heads),
                     .value_heads = static_cast<int>(net.value_heads),
                     .heads = static_cast<int>(rule.part.key_heads * served),
                     .served = static_cast<int>(served),
                     .sequences = rule.part.sequences,
                     .length = rule.length,
                     .channels = net.channels(),
                     .starts = rule.starts,
                     .mixed = rule.mixed,
                     .g = rule.g,
                     .beta = rule.beta,
                     .lengths = rule.lengths,
                     .sums = at(space.sums),
                     .added = at(space.added),
                     .erased = at(space.erased),
                     .attention = at(space.attention),
                     .system = at(space.system),
                     .d_added = at(space.d_added),
                     .states = at(space.states),
                     .d_states = at(space.d_states)};
  for (std::int64_t s = 0; s < rule.sequences; s += rule.part.sequences) {
    for (std::int64_t head = 0; head < net.key_heads; head += rule.part.key_heads) {
      view.first_sequence = s;
      view.first_head = static_cast<int>(head * served);
      body(view);
    }
  }
}

}  // namespace

void delta_rule(CUstream_st* stream, const DeltaRule& rule, std::uint16_t* o) {
  check_rule(rule);
  delta_lengths(stream, rule);
  for_parts(rule, [&](const DeltaPartView& part) {
    delta_systems(stream, part, false);
    delta_states(stream, part, o);
  });
}

void delta_rule_backward(CUstream_st* stream, const DeltaRule& rule, const std::uint16_t* d_o,
                         const DeltaRuleGradients& gradients) {
  check_rule(rule);
  check(aligned(d_o), "the operands of the rule are 16-byte aligned");
  delta_lengths(stream, rule);
  for_parts(rule, [&](const DeltaPartView& part) {
    delta_systems(stream, part, true);
    delta_states(stream, part, nullptr);
    delta_states_backward(stream, part, d_o);
    delta_chunk_gradients(stream, part, d_o, gradients);
    delta_lengths_backward(stream, part, gradients);
  });
}

}  // namespace sluice::engine::cuda
