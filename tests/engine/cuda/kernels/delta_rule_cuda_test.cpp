// The gated delta rule's kernels against the host's, and documents, parts and pieces by their bits.
#include "engine/cuda/kernels/delta_rule.hpp"
#include "engine/host/delta_net.hpp"
#include "planner/scratch/workspace.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

using Floats = std::vector<float>;
using RuleBounds = std::vector<std::int64_t>;

/// Two sequences of `length` tokens: the first has the documents of `bounds`, the second is one.
struct RuleCase {
  planner::DeltaNet net;
  std::int64_t length;
  RuleBounds bounds;
  Halves mixed, d_o;
  Floats g, beta;
  std::vector<std::int32_t> starts;

  RuleCase(const planner::DeltaNet& sizes, RuleBounds documents)
      : net(sizes), length(documents.back()), bounds(std::move(documents)) {
    RandomValues random(static_cast<unsigned>(net.channels() + length));
    mixed = random.halves(tokens() * net.channels());
    d_o = random.halves(tokens() * net.values());
    for (const float x : random.floats(tokens() * net.value_heads)) g.push_back(-0.05F * x * x);
    for (const float x : random.floats(tokens() * net.value_heads)) {
      beta.push_back(1 / (1 + std::exp(-x)));
    }
    starts.resize(static_cast<std::size_t>(tokens()));
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      std::fill(starts.begin() + bounds[i], starts.begin() + bounds[i + 1],
                static_cast<std::int32_t>(bounds[i]));
    }
  }
  [[nodiscard]] std::int64_t tokens() const { return 2 * length; }
};

struct RuleResults {
  std::vector<double> o, d_mixed, d_g, d_beta;
  friend bool operator==(const RuleResults&, const RuleResults&) = default;
};

template <class T>
std::vector<double> widened_values(const std::vector<T>& values) {
  std::vector<double> wide;
  for (const T value : values) wide.push_back(static_cast<double>(value_of(value)));
  return wide;
}

RuleResults rule_on_host(const RuleCase& test) {
  const planner::DeltaNet& net = test.net;
  RuleResults all;
  Floats scratch(static_cast<std::size_t>(planner::delta_rule_floats(net, test.length)));
  for (std::int64_t s = 0; s < 2; ++s) {
    const RuleBounds bounds = s == 0 ? test.bounds : RuleBounds{0, test.length};
    const auto part = [&](const auto& values, std::int64_t each) {
      const std::int64_t first = s * test.length * each;
      const auto wide = widened_values(values);
      return Floats(wide.begin() + first, wide.begin() + first + test.length * each);
    };
    const auto sized = [&](std::int64_t each) {
      return Floats(static_cast<std::size_t>(test.length * each));
    };
    const Floats mixed = part(test.mixed, net.channels()), d_o = part(test.d_o, net.values());
    const Floats g = part(test.g, net.value_heads), beta = part(test.beta, net.value_heads);
    Floats o = sized(net.values()), d_mixed = sized(net.channels());
    Floats d_g = sized(net.value_heads), d_beta = sized(net.value_heads);
    const DeltaInputs inputs{mixed.data(), g.data(), beta.data()};
    engine::delta_rule(planner::ComputeType::fp32, net, bounds, inputs, scratch.data(), o.data(),
                       nullptr);
    engine::delta_rule_backward(planner::ComputeType::fp32, net, bounds, inputs, scratch.data(),
                                d_o.data(), {d_mixed.data(), d_g.data(), d_beta.data()});
    const auto append = [](const Floats& from, std::vector<double>& to) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(o, all.o);
    append(d_mixed, all.d_mixed);
    append(d_g, all.d_g);
    append(d_beta, all.d_beta);
  }
  return all;
}

RuleResults rule_on_device(cudaStream_t stream, const RuleCase& test,
                           const planner::DeltaPart& part) {
  const planner::DeltaNet& net = test.net;
  const DeviceArray<std::uint16_t> mixed(test.mixed), d_o(test.d_o);
  const DeviceArray<float> g(test.g), beta(test.beta);
  const DeviceArray<std::int32_t> starts(test.starts);
  const DeviceArray<float> lengths(test.tokens() * 2 * net.key_heads);
  const DeviceArray<std::byte> scratch(
      planner::delta_rule_space(net, part, test.length).total.count());
  const DeviceArray<std::uint16_t> o(test.tokens() * net.values()),
      d_mixed(test.tokens() * net.channels());
  const DeviceArray<float> d_g(test.tokens() * net.value_heads),
      d_beta(test.tokens() * net.value_heads);
  const DeltaRule rule{.net = net,
                       .sequences = 2,
                       .length = test.length,
                       .part = part,
                       .starts = starts.data(),
                       .mixed = mixed.data(),
                       .g = g.data(),
                       .beta = beta.data(),
                       .lengths = lengths.data(),
                       .scratch = scratch.data()};
  delta_rule(stream, rule, o.data());
  delta_rule_backward(stream, rule, d_o.data(), {d_mixed.data(), d_g.data(), d_beta.data()});
  succeed(cudaStreamSynchronize(stream), "a kernel failed");
  EXPECT_TRUE(o.intact() && d_mixed.intact() && d_g.intact() && d_beta.intact() &&
              scratch.intact() && lengths.intact());
  return {widened_values(o.values()), widened_values(d_mixed.values()),
          widened_values(d_g.values()), widened_values(d_beta.values())};
}

double rule_error(const std::vector<double>& actual, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  // The first token of a document passes nothing to its decay.
  return size == 0 ? difference : std::sqrt(difference / size);
}

const planner::DeltaNet kNets[] = {
    {.key_heads = 2, .value_heads = 4, .key_dim = 32, .value_dim = 16},
    {.key_heads = 1, .value_heads = 2, .key_dim = 128, .value_dim = 128},
    {.key_heads = 2, .value_heads = 2, .key_dim = 64, .value_dim = 112}};
const RuleBounds kRuleDocuments[] = {
    {0, 1}, {0, 64}, {0, 30, 31, 200}, {0, 130, 150, 151, 152, 333}};

class DeltaRuleKernel : public KernelTest {};

TEST_F(DeltaRuleKernel, AgreesWithTheHostAndRepeats) {
  // Outputs are rounded to bf16, factors of products to tf32: at most 2^-9 and 2^-12 relative.
  constexpr double kTolerance = 3e-3;
  for (const planner::DeltaNet& net : kNets) {
    for (const RuleBounds& documents : kRuleDocuments) {
      const RuleCase test(net, documents);
      const planner::DeltaPart whole{2, net.key_heads};
      const RuleResults expected = rule_on_host(test),
                        actual = rule_on_device(stream_, test, whole);
      const double errors[] = {
          rule_error(actual.o, expected.o), rule_error(actual.d_mixed, expected.d_mixed),
          rule_error(actual.d_g, expected.d_g), rule_error(actual.d_beta, expected.d_beta)};
      std::printf("  %d x %d, %d tokens: o %.1e, mixed %.1e, g %.1e, beta %.1e\n", int(net.key_dim),
                  int(net.value_dim), int(test.length), errors[0], errors[1], errors[2], errors[3]);
      for (const double error : errors) EXPECT_LT(error, kTolerance);
      EXPECT_EQ(rule_on_device(stream_, test, whole), actual);
    }
  }
}

TEST_F(DeltaRuleKernel, BitsDoNotDependOnTheParts) {
  const RuleCase test(kNets[0], kRuleDocuments[3]);
  const RuleResults whole = rule_on_device(stream_, test, {2, 2});
  EXPECT_EQ(rule_on_device(stream_, test, {1, 2}), whole);
  EXPECT_EQ(rule_on_device(stream_, test, {1, 1}), whole);
}

TEST_F(DeltaRuleKernel, PackedDocumentsHaveTheBitsOfDocumentsAlone) {
  const RuleCase packed(kNets[1], {0, 70, 270});
  RuleCase alone(kNets[1], {0, 200});  // The second document, twice.
  const auto cut = [&](const auto& from, std::int64_t each, auto& to) {
    for (std::int64_t s = 0; s < 2; ++s) {
      std::copy_n(from.begin() + 70 * each, 200 * each, to.begin() + s * 200 * each);
    }
  };
  cut(packed.mixed, packed.net.channels(), alone.mixed);
  cut(packed.d_o, packed.net.values(), alone.d_o);
  cut(packed.g, packed.net.value_heads, alone.g);
  cut(packed.beta, packed.net.value_heads, alone.beta);
  const RuleResults all = rule_on_device(stream_, packed, {2, 1}),
                    own = rule_on_device(stream_, alone, {2, 1});
  const auto expect_same = [](const std::vector<double>& from, const std::vector<double>& one,
                              std::int64_t each) {
    EXPECT_TRUE(std::equal(one.begin(), one.begin() + 200 * each, from.begin() + 70 * each));
  };
  expect_same(all.o, own.o, packed.net.values());
  expect_same(all.d_mixed, own.d_mixed, packed.net.channels());
  expect_same(all.d_g, own.d_g, packed.net.value_heads);
  expect_same(all.d_beta, own.d_beta, packed.net.value_heads);
}

TEST_F(DeltaRuleKernel, TokenByTokenAgreesWithChunksAndDoesNotDependOnPieces) {
  for (const planner::DeltaNet& net : kNets) {
    const RuleCase test(net, {0, 150});
    const DeviceArray<std::uint16_t> mixed(test.mixed), o(test.length * net.values());
    const DeviceArray<float> g(test.g), beta(test.beta), lengths(test.length * 2 * net.key_heads);
    const DeviceArray<float> state(net.state());
    const auto outputs = [&](const std::vector<std::int64_t>& pieces) {
      succeed(cudaMemset(state.data(), 0, sizeof(float) * static_cast<std::size_t>(net.state())),
              "memset");
      succeed(cudaDeviceSynchronize(), "memset");
      std::int64_t first = 0;
      for (const std::int64_t count : pieces) {
        const DeltaRule rule{.net = net,
                             .sequences = 1,
                             .length = test.length,
                             .part = {},
                             .starts = nullptr,
                             .mixed = mixed.data() + first * net.channels(),
                             .g = g.data() + first * net.value_heads,
                             .beta = beta.data() + first * net.value_heads,
                             .lengths = lengths.data(),
                             .scratch = nullptr};
        delta_rule_extend(stream_, rule, count, state.data(), o.data() + first * net.values());
        first += count;
      }
      finish();
      return widened_values(o.values());
    };
    const std::vector<double> whole = outputs({150});
    EXPECT_EQ(outputs({64, 1, 50, 35}), whole);
    EXPECT_TRUE(o.intact() && state.intact() && lengths.intact());
    std::vector<double> expected = rule_on_host(test).o;
    expected.resize(whole.size());
    EXPECT_LT(rule_error(whole, expected), 3e-3);
  }
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
