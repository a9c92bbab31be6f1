// The gated delta net against its recurrence in fp64, against transformers, and with documents
// apart.
#include "engine/host/delta_net.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "engine/host/delta_gates.hpp"
#include "engine/host/gated_norm.hpp"
#include "planner/models/job.hpp"
#include "planner/scratch/workspace.hpp"
#include "tests/engine/safetensors.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

using planner::ComputeType;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Bounds = std::vector<std::int64_t>;

Floats sized(std::int64_t count) { return Floats(static_cast<std::size_t>(count)); }

Floats random_floats(std::int64_t count, unsigned seed, double low = -1, double high = 1) {
  std::mt19937 generator(seed);
  Floats values = sized(count);
  for (float& value : values) {
    const double share = static_cast<double>(generator()) / 4294967296.0;
    value = static_cast<float>(low + (high - low) * share);
  }
  return values;
}

/// Inputs of the rule for a layer of 2 key heads and 4 value heads.
struct Case {
  DeltaSizes sizes{.key_heads = 2, .value_heads = 4, .key_dim = 5, .value_dim = 3};
  Bounds bounds;
  Floats mixed, g, beta, d_o;

  explicit Case(Bounds documents) : bounds(std::move(documents)) {
    const std::int64_t tokens = bounds.back();
    mixed = random_floats(tokens * sizes.channels(), 1);
    g = random_floats(tokens * sizes.value_heads, 2, -0.7, -0.001);
    beta = random_floats(tokens * sizes.value_heads, 3, 0.05, 0.95);
    d_o = random_floats(tokens * sizes.value_heads * sizes.value_dim, 4);
  }
  [[nodiscard]] DeltaInputs inputs() const { return {mixed.data(), g.data(), beta.data()}; }
};

struct Outputs {
  Floats o, last, d_mixed, d_g, d_beta;
};

Outputs run(const Case& test, ComputeType compute = ComputeType::fp32) {
  const std::int64_t tokens = test.bounds.back(), heads = test.sizes.value_heads;
  Outputs out{sized(tokens * heads * test.sizes.value_dim), sized(test.sizes.state()),
              sized(tokens * test.sizes.channels()), sized(tokens * heads), sized(tokens * heads)};
  Floats scratch = sized(planner::delta_rule_floats(test.sizes, tokens));
  delta_rule(compute, test.sizes, test.bounds, test.inputs(), scratch.data(), out.o.data(),
             out.last.data());
  delta_rule_backward(compute, test.sizes, test.bounds, test.inputs(), scratch.data(),
                      test.d_o.data(), {out.d_mixed.data(), out.d_g.data(), out.d_beta.data()});
  return out;
}

Doubles unit(const Doubles& mixed, std::int64_t at, std::int64_t n, double scale) {
  double squares = 1e-6;
  for (std::int64_t c = 0; c < n; ++c)
    squares += std::pow(mixed[static_cast<std::size_t>(at + c)], 2);
  Doubles out;
  for (std::int64_t c = 0; c < n; ++c) {
    out.push_back(mixed[static_cast<std::size_t>(at + c)] / std::sqrt(squares) * scale);
  }
  return out;
}

/// The recurrence, token by token in fp64; the numbers of `inputs` are mixed, g and beta, one
/// behind the other.
Doubles recurrence(const Case& test, const Doubles& inputs) {
  const DeltaSizes& s = test.sizes;
  const std::int64_t tokens = test.bounds.back();
  const std::int64_t g_at = tokens * s.channels(), beta_at = g_at + tokens * s.value_heads;
  Doubles o;
  o.resize(static_cast<std::size_t>(tokens * s.value_heads * s.value_dim));
  for (std::int64_t h = 0; h < s.value_heads; ++h) {
    const std::int64_t key_head = h / (s.value_heads / s.key_heads);
    for (std::size_t document = 0; document + 1 < test.bounds.size(); ++document) {
      std::vector<Doubles> state(static_cast<std::size_t>(s.key_dim),
                                 Doubles(static_cast<std::size_t>(s.value_dim)));
      for (std::int64_t t = test.bounds[document]; t < test.bounds[document + 1]; ++t) {
        const std::int64_t token = t * s.channels();
        const Doubles q = unit(inputs, token + key_head * s.key_dim, s.key_dim,
                               1 / std::sqrt(static_cast<double>(s.key_dim)));
        const Doubles k = unit(inputs, token + (s.key_heads + key_head) * s.key_dim, s.key_dim, 1);
        const double decay =
            std::exp(inputs[static_cast<std::size_t>(g_at + t * s.value_heads + h)]);
        const double beta = inputs[static_cast<std::size_t>(beta_at + t * s.value_heads + h)];
        for (std::int64_t c = 0; c < s.value_dim; ++c) {
          const auto col = static_cast<std::size_t>(c);
          double read = 0, out = 0;
          for (std::size_t r = 0; r < state.size(); ++r) read += decay * state[r][col] * k[r];
          const std::int64_t v = token + 2 * s.key_heads * s.key_dim + h * s.value_dim + c;
          const double added = beta * (inputs[static_cast<std::size_t>(v)] - read);
          for (std::size_t r = 0; r < state.size(); ++r) {
            state[r][col] = decay * state[r][col] + k[r] * added;
            out += state[r][col] * q[r];
          }
          o[static_cast<std::size_t>((t * s.value_heads + h) * s.value_dim + c)] = out;
        }
      }
    }
  }
  return o;
}

Doubles all_inputs(const Case& test) {
  Doubles all(test.mixed.begin(), test.mixed.end());
  all.insert(all.end(), test.g.begin(), test.g.end());
  all.insert(all.end(), test.beta.begin(), test.beta.end());
  return all;
}

double error(const Floats& found, const Doubles& expected) {
  return relative_error(found.data(), expected.data(), std::ssize(found));
}

TEST(DeltaRule, InChunksIsTheRecurrence) {
  // Documents of one token, of a chunk, of a chunk and a token, and of several chunks.
  const Case test({0, 1, 65, 130, 300});
  EXPECT_LT(error(run(test).o, recurrence(test, all_inputs(test))), 1e-6);
}

TEST(DeltaRule, HasTheRecurrencesGradients) {
  const Case test({0, 3, 72});
  const Outputs out = run(test);
  Floats found = out.d_mixed;
  found.insert(found.end(), out.d_g.begin(), out.d_g.end());
  found.insert(found.end(), out.d_beta.begin(), out.d_beta.end());
  const Doubles inputs = all_inputs(test);
  const auto loss = [&](const Doubles& at) {
    const Doubles o = recurrence(test, at);
    double sum = 0;
    for (std::size_t i = 0; i < o.size(); ++i) sum += o[i] * double{test.d_o[i]};
    return sum;
  };
  Floats checked;
  Doubles expected;
  // Every seventh input: 7 divides none of the sizes, so that every kind is among them.
  for (std::size_t i = 0; i < inputs.size(); i += 7) {
    constexpr double kStep = 1e-5;
    Doubles up = inputs, down = inputs;
    up[i] += kStep;
    down[i] -= kStep;
    checked.push_back(found[i]);
    expected.push_back((loss(up) - loss(down)) / (2 * kStep));
  }
  EXPECT_LT(error(checked, expected), 1e-5);
}

TEST(DeltaRule, OfPackedDocumentsGivesTheBitsOfDocumentsAlone) {
  for (const ComputeType compute : {ComputeType::fp32, ComputeType::bf16}) {
    const Case packed({0, 70, 75, 205});
    const Outputs together = run(packed, compute);
    for (std::size_t i = 0; i + 1 < packed.bounds.size(); ++i) {
      const std::int64_t first = packed.bounds[i], tokens = packed.bounds[i + 1] - first;
      Case alone({0, tokens});
      const auto cut = [&](const Floats& from, std::int64_t width) {
        return Floats(from.begin() + first * width, from.begin() + (first + tokens) * width);
      };
      const std::int64_t heads = packed.sizes.value_heads, out = heads * packed.sizes.value_dim;
      alone.mixed = cut(packed.mixed, packed.sizes.channels());
      alone.g = cut(packed.g, heads);
      alone.beta = cut(packed.beta, heads);
      alone.d_o = cut(packed.d_o, out);
      const Outputs single = run(alone, compute);
      EXPECT_EQ(single.o, cut(together.o, out));
      EXPECT_EQ(single.d_mixed, cut(together.d_mixed, packed.sizes.channels()));
      EXPECT_EQ(single.d_g, cut(together.d_g, heads));
      EXPECT_EQ(single.d_beta, cut(together.d_beta, heads));
    }
  }
}

TEST(DeltaRule, GoesOnTokenByTokenFromItsLastState) {
  const Case whole({0, 100});
  // Random inputs of both begin with the same numbers.
  Floats state = run(Case({0, 80})).last, o = sized(12), scratch = sized(13);
  const Doubles expected = recurrence(whole, all_inputs(whole));
  for (std::int64_t t = 80; t < 100; ++t) {
    delta_rule_step(ComputeType::fp32, whole.sizes,
                    {whole.mixed.data() + t * whole.sizes.channels(), whole.g.data() + t * 4,
                     whole.beta.data() + t * 4},
                    state.data(), scratch.data(), o.data());
    EXPECT_LT(relative_error(o.data(), expected.data() + t * 12, 12), 1e-5) << t;
  }
}

TEST(DeltaConv, GoesOnTokenByTokenWithTheBitsOfWholeDocuments) {
  const std::int64_t channels = 6, tokens = 9;
  const Floats x = random_floats(tokens * channels, 5), weight = random_floats(channels * 4, 6);
  Floats y = sized(tokens * channels), step = sized(channels), window = sized(3 * channels);
  delta_conv(ComputeType::bf16, Bounds{0, tokens}, channels, x.data(), weight.data(), y.data());
  for (std::int64_t t = 0; t < tokens; ++t) {
    delta_conv_step(ComputeType::bf16, channels, x.data() + t * channels, weight.data(),
                    window.data(), step.data());
    EXPECT_EQ(step, Floats(y.begin() + t * channels, y.begin() + (t + 1) * channels)) << t;
  }
}

TEST(DeltaConv, DoesNotSeeTheDocumentBefore) {
  const std::int64_t channels = 5;
  const Floats x = random_floats(8 * channels, 7), weight = random_floats(channels * 4, 8);
  const Floats d_y = random_floats(8 * channels, 9);
  const auto both = [&](const Bounds& bounds, std::int64_t first) {
    const std::int64_t size = bounds.back() * channels;
    Floats y = sized(size), d_x = sized(size), d_weight = sized(channels * 4);
    Floats scratch = sized(channels);
    const float* from = x.data() + first * channels;
    delta_conv(ComputeType::fp32, bounds, channels, from, weight.data(), y.data());
    delta_conv_backward(ComputeType::fp32, bounds, channels, from, weight.data(),
                        d_y.data() + first * channels, scratch.data(), d_x.data(), d_weight.data());
    y.insert(y.end(), d_x.begin(), d_x.end());
    return y;
  };
  const Floats packed = both({0, 3, 8}, 0), alone = both({0, 5}, 3);
  EXPECT_EQ(Floats(packed.begin() + 15, packed.begin() + 40),
            Floats(alone.begin(), alone.begin() + 25));
  EXPECT_EQ(Floats(packed.begin() + 55, packed.end()), Floats(alone.begin() + 25, alone.end()));
}

/// A layer between its projections: convolution, gates, rule and norm, forward and backward.
TEST(DeltaNet, HasTransformersOutputAndGradients) {
  const Fixture fixture =
      read_fixture(SLUICE_SOURCE_DIR "/tests/fixtures/delta_net/delta_net.safetensors");
  const auto floats = [&](const std::string& name) {
    const Doubles& values = fixture.tensor(name).values;
    return Floats(values.begin(), values.end());
  };
  const DeltaSizes sizes{.key_heads = 1, .value_heads = 2, .key_dim = 6, .value_dim = 4};
  const std::int64_t tokens = 70, heads = 2, out = 8;
  const Bounds bounds = {0, tokens};
  const auto fp32 = ComputeType::fp32;
  const Floats x = floats("x"), conv = floats("conv"), a = floats("a"), b = floats("b"),
               a_log = floats("a_log"), dt_bias = floats("dt_bias"), z = floats("z"),
               norm = floats("norm"), d_out = floats("d_out");
  Floats mixed = x, g = a, beta = a, o = z, y = z;
  Floats scratch = sized(std::max(planner::delta_rule_floats(sizes, tokens), sizes.channels()));
  const DeltaDecay decay{a_log.data(), dt_bias.data()};
  delta_conv(fp32, bounds, sizes.channels(), x.data(), conv.data(), mixed.data());
  delta_gates(tokens, heads, decay, a.data(), b.data(), g.data(), beta.data());
  const DeltaInputs inputs{mixed.data(), g.data(), beta.data()};
  delta_rule(fp32, sizes, bounds, inputs, scratch.data(), o.data(), nullptr);
  gated_norm(fp32, tokens * heads, 4, o.data(), z.data(), norm.data(), 1e-6F, y.data());
  EXPECT_LT(error(y, fixture.tensor("out").values), 1e-5);

  Floats d_o = z, d_z = z, d_norm = sized(4), d_mixed = mixed, d_g = a, d_beta = a, d_x = x,
         d_conv = sized(std::ssize(conv)), d_a_log = sized(heads), d_dt_bias = sized(heads);
  gated_norm_backward(fp32, tokens * heads, 4, o.data(), z.data(), norm.data(), 1e-6F, d_out.data(),
                      d_o.data(), d_z.data(), d_norm.data());
  delta_rule_backward(fp32, sizes, bounds, inputs, scratch.data(), d_o.data(),
                      {d_mixed.data(), d_g.data(), d_beta.data()});
  delta_gates_backward(tokens, heads, decay, a.data(), b.data(), d_g.data(), d_beta.data(),
                       d_g.data(), d_beta.data(), {d_a_log.data(), d_dt_bias.data()});
  delta_conv_backward(fp32, bounds, sizes.channels(), x.data(), conv.data(), d_mixed.data(),
                      scratch.data(), d_x.data(), d_conv.data());
  EXPECT_EQ(std::ssize(d_out), tokens * out);
  for (const auto& [name, found] : {std::pair<const char*, const Floats&>{"d_x", d_x},
                                    {"d_conv", d_conv},
                                    {"d_z", d_z},
                                    {"d_norm", d_norm},
                                    {"d_a", d_g},
                                    {"d_b", d_beta}}) {
    EXPECT_LT(error(found, fixture.tensor(name).values), 1e-5) << name;
  }
  EXPECT_LT(error(d_a_log, fixture.tensor("d_a_log").values), 1e-4);
  EXPECT_LT(error(d_dt_bias, fixture.tensor("d_dt_bias").values), 1e-4);
}

}  // namespace
}  // namespace sluice::engine::testing
