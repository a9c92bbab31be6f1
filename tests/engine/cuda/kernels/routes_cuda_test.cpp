// Choices of experts and rows of routes against the host backend's, and their sums and activations
// against double.
#include <array>
#include <limits>

#include "engine/cuda/kernels/routes.hpp"
#include "engine/host/routes.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

using planner::kExpertTile;
using planner::kRouteChunks;

/// Device memory of RouteArrays.
struct DeviceRoutes {
  explicit DeviceRoutes(const RouteShape& shape)
      : expert(shape.tokens * shape.active),
        row(shape.tokens * shape.active),
        token(shape.tokens * shape.active),
        begin(shape.experts + 1),
        tiles(2 * planner::route_tiles(shape.tokens * shape.active, shape.experts)),
        counts(kRouteChunks * shape.experts),
        share(shape.tokens * shape.active),
        d_share(shape.tokens * shape.active) {}
  [[nodiscard]] RouteArrays arrays() const {
    return {.expert = expert.data(),
            .row = row.data(),
            .token = token.data(),
            .share = share.data(),
            .d_share = d_share.data(),
            .begin = begin.data(),
            .tiles = tiles.data(),
            .counts = counts.data()};
  }
  [[nodiscard]] bool intact() const {
    return expert.intact() && row.intact() && token.intact() && begin.intact() && tiles.intact() &&
           counts.intact() && share.intact() && d_share.intact();
  }
  DeviceArray<std::int32_t> expert, row, token, begin, tiles, counts;
  DeviceArray<float> share, d_share;
};

/// The host's routes for the same logits, in memory of their own.
struct HostRoutes {
  HostRoutes(const RouteShape& shape, const std::vector<float>& logits)
      : job(job_of(shape)),
        space(planner::block_workspace(job).routes),
        memory(static_cast<std::size_t>(space.end.count()) + 64),
        scratch(static_cast<std::size_t>(shape.experts)),
        routes(job, space, memory.data(), shape.tokens) {
    routes.choose(logits.data(), nullptr, scratch.data());
  }
  static planner::Job job_of(const RouteShape& shape) {
    planner::Job job;
    job.model.family = planner::Family::mixtral;
    job.model.names.experts = planner::kMixtralExperts;
    job.model.hidden = job.model.heads = job.model.kv_heads = job.model.head_dim = 8;
    job.model.experts = planner::Experts{.count = shape.experts,
                                         .active = shape.active,
                                         .intermediate = 8,
                                         .normalized = shape.normalized};
    job.model.intermediate = 8 * shape.active;
    job.model.vocab = 8;
    job.model.layers = 1;
    job.seq_len = shape.tokens;
    job.batch_size = 1;
    return job;
  }
  planner::Job job;
  planner::RouteWorkspace space;
  std::vector<std::byte> memory;
  std::vector<float> scratch;
  Routes routes;
};

constexpr std::array kRouteShapes = {
    RouteShape{.tokens = 1, .experts = 8, .active = 1},
    RouteShape{.tokens = 777, .experts = 8, .active = 2, .normalized = false},
    RouteShape{.tokens = 130, .experts = 6, .active = 3},
    RouteShape{.tokens = 999, .experts = 60, .active = 4, .normalized = false},
    RouteShape{.tokens = 5000, .experts = 128, .active = 8},
    RouteShape{.tokens = 40000, .experts = 64, .active = 6, .normalized = false},
    RouteShape{.tokens = 300, .experts = 512, .active = 32}};

class RouteKernels : public KernelTest {
 protected:
  void expect_routes_of_the_host(const RouteShape& shape, const std::vector<float>& logits) {
    const HostRoutes expected(shape, logits);
    const DeviceArray<float> values(logits);
    const DeviceRoutes routes(shape);
    route(stream_, values.data(), shape, routes.arrays());
    finish();
    EXPECT_TRUE(routes.intact());
    const auto begin = routes.begin.values(), token = routes.token.values();
    const auto row = routes.row.values(), tiles = routes.tiles.values();
    const std::vector<float> share = routes.share.values();
    ASSERT_EQ(begin.back(), shape.tokens * shape.active);
    std::vector<std::int32_t> first_rows;
    for (std::int64_t expert = 0; expert < shape.experts; ++expert) {
      ASSERT_EQ(begin[static_cast<std::size_t>(expert)], expected.routes.first_row(expert));
      for (std::int64_t tile = 0; tile < expected.routes.rows(expert); tile += kExpertTile) {
        first_rows.push_back(static_cast<std::int32_t>(expert));
        first_rows.push_back(static_cast<std::int32_t>(expected.routes.first_row(expert) + tile));
      }
    }
    ASSERT_LE(first_rows.size(), tiles.size());
    EXPECT_TRUE(std::equal(first_rows.begin(), first_rows.end(), tiles.begin()));
    for (std::size_t i = first_rows.size(); i < tiles.size(); i += 2) EXPECT_EQ(tiles[i], -1);
    for (std::size_t i = 0; i < token.size(); ++i) {
      ASSERT_EQ(token[i], expected.routes.token(static_cast<std::int64_t>(i))) << i;
      const float wanted = expected.routes.share(static_cast<std::int64_t>(i));
      if (!std::isnan(wanted)) {
        ASSERT_NEAR(share[i], wanted, 1e-5F * wanted + 1e-12F) << i;
      }
      const auto at = static_cast<std::size_t>(row[i]);
      ASSERT_EQ(token[at], static_cast<std::int32_t>(i) / shape.active) << "route " << i;
    }
  }
};

TEST_F(RouteKernels, AreThoseOfTheHost) {
  for (const RouteShape& shape : kRouteShapes) {
    RandomValues random(static_cast<unsigned>(shape.tokens));
    expect_routes_of_the_host(shape, random.floats(shape.tokens * shape.experts, 3));
  }
}

TEST_F(RouteKernels, SurviveEqualLogitsOneFavouriteAndNoNumbers) {
  for (const RouteShape& shape : kRouteShapes) {
    std::vector<float> logits(static_cast<std::size_t>(shape.tokens * shape.experts), 0.5F);
    expect_routes_of_the_host(shape, logits);
    for (std::size_t i = 0; i < logits.size(); i += static_cast<std::size_t>(shape.experts)) {
      logits[i] = 30;
    }
    expect_routes_of_the_host(shape, logits);
    std::fill(logits.begin(), logits.end(), std::numeric_limits<float>::quiet_NaN());
    expect_routes_of_the_host(shape, logits);
  }
}

TEST_F(RouteKernels, GradientsOfLogitsAreThoseOfTheHost) {
  for (const RouteShape& shape : kRouteShapes) {
    RandomValues random(static_cast<unsigned>(shape.experts));
    const std::vector<float> logits = random.floats(shape.tokens * shape.experts);
    const std::vector<float> d_share = random.floats(shape.tokens * shape.active);
    const std::vector<float> counts = random.floats(shape.experts, 100);
    HostRoutes host(shape, logits);
    for (std::size_t i = 0; i < d_share.size(); ++i) {
      host.routes.set_share_gradient(static_cast<std::int64_t>(i), d_share[i]);
    }
    const DeviceArray<float> values(logits), routed(counts);
    const DeviceRoutes routes(shape);
    const DeviceArray<std::uint16_t> d_logits(shape.tokens * planner::router_row(shape.experts));
    for (const float balance : {0.0F, 0.01F}) {
      std::vector<double> expected;
      for (std::int64_t t = 0; t < shape.tokens; ++t) {
        const float* own = logits.data() + t * shape.experts;
        std::vector<float> p(own, own + shape.experts), d(p.size());
        double total = 0, dot = 0;
        for (float& value : p) total += value = std::exp(value);
        for (float& value : p) value = static_cast<float>(value / total);
        host.routes.probability_gradient(t, p.data(), d.data());
        for (std::size_t e = 0; e < p.size(); ++e) d[e] += balance * counts[e];
        for (std::size_t e = 0; e < p.size(); ++e) dot += double(d[e]) * p[e];
        for (std::size_t e = 0; e < p.size(); ++e) expected.push_back(p[e] * (d[e] - dot));
        expected.resize(static_cast<std::size_t>((t + 1) * planner::router_row(shape.experts)));
      }
      route(stream_, values.data(), shape, routes.arrays());
      succeed(cudaMemcpyAsync(routes.d_share.data(), d_share.data(), d_share.size() * 4,
                              cudaMemcpyHostToDevice, stream_),
              "shares' gradients");
      route_backward(stream_, values.data(), shape, routes.arrays(), balance, routed.data(),
                     d_logits.data());
      finish();
      EXPECT_TRUE(d_logits.intact());
      expect_close(d_logits.values(), expected, kOneRounding, 1e-4, "d_logits");
    }
  }
}

// Sums of probabilities repeat bit for bit; the loss is the sum of products of the two sums
// carried.
TEST_F(RouteKernels, AddRoutesAndProbabilitiesToThoseBefore) {
  for (const RouteShape& shape : kRouteShapes) {
    RandomValues random(static_cast<unsigned>(shape.experts + shape.tokens));
    const std::vector<float> logits = random.floats(shape.tokens * shape.experts);
    const std::vector<float> before = random.floats(2 * shape.experts, 100);
    const HostRoutes host(shape, logits);
    std::vector<double> probabilities(before.begin() + shape.experts, before.end());
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
      const float* own = logits.data() + t * shape.experts;
      double total = 0;
      for (std::int64_t e = 0; e < shape.experts; ++e) total += std::exp(double(own[e]));
      for (std::int64_t e = 0; e < shape.experts; ++e) {
        probabilities[static_cast<std::size_t>(e)] += std::exp(double(own[e])) / total;
      }
    }
    const DeviceArray<float> values(logits), carried(before);
    const DeviceArray<double> loss(1);
    const DeviceRoutes routes(shape);
    std::vector<float> found;
    for (int run = 0; run < 2; ++run) {
      const DeviceArray<float> sums(2 * shape.experts);
      route(stream_, values.data(), shape, routes.arrays());
      add_balance(stream_, values.data(), shape, routes.arrays(), carried.data(), sums.data());
      balance_loss(stream_, sums.data(), shape.experts, 0.25, loss.data());
      finish();
      EXPECT_TRUE(sums.intact() && routes.intact() && loss.intact());
      if (run == 1) {
        EXPECT_EQ(found, sums.values());
      }
      found = sums.values();
    }
    double expected = 0;
    for (std::int64_t e = 0; e < shape.experts; ++e) {
      const auto at = static_cast<std::size_t>(e);
      EXPECT_EQ(found[at], before[at] + static_cast<float>(host.routes.rows(e))) << e;
      expected += 0.25 * double(found[at]) * found[at + static_cast<std::size_t>(shape.experts)];
    }
    expect_close(std::vector<float>(found.begin() + shape.experts, found.end()), probabilities,
                 1e-5, 1, "probabilities");
    EXPECT_NEAR(loss.values().front(), expected, 1e-9 * std::abs(expected) + 1e-9);
  }
}

TEST_F(RouteKernels, SumsOfATokensRowsAgreeWithDouble) {
  const RouteShape shape{.tokens = 333, .experts = 16, .active = 3};
  for (const std::int64_t width : {8, 136, 2048, 4104}) {
    RandomValues random(static_cast<unsigned>(width));
    const DeviceArray<float> logits(random.floats(shape.tokens * shape.experts));
    const Halves rows = random.halves(shape.tokens * shape.active * width);
    const Halves base = random.halves(shape.tokens * width);
    const DeviceRoutes routes(shape);
    const DeviceArray<std::uint16_t> in(rows), start(base), out(shape.tokens * width);
    route(stream_, logits.data(), shape, routes.arrays());
    combine_rows(stream_, in.data(), shape, routes.arrays(), {start.data()}, width, out.data());
    finish();
    const auto row = routes.row.values();
    std::vector<double> expected;
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
      for (std::int64_t c = 0; c < width; ++c) {
        double sum = value_of(base[t * width + c]);
        for (std::int64_t i = 0; i < shape.active; ++i) {
          sum += value_of(rows[row[t * shape.active + i] * width + c]);
        }
        expected.push_back(sum);
      }
    }
    EXPECT_TRUE(out.intact());
    expect_close(out.values(), expected, kOneRounding, 1e-4, "sums");
  }
}

TEST_F(RouteKernels, WeightedActivationsAndTheirGradientsAgreeWithDouble) {
  for (const auto& [rows, width] :
       {std::pair<std::int64_t, std::int64_t>{1, 8}, {777, 96}, {65, 4104}}) {
    RandomValues random(static_cast<unsigned>(width));
    const Halves gate_up = random.halves(2 * rows * width), d = random.halves(rows * width);
    std::vector<float> share = random.floats(rows, 0.2F);
    for (float& value : share) value = std::abs(value);
    const DeviceArray<std::uint16_t> in(gate_up), activation(rows * width), gradient(d);
    const DeviceArray<std::uint16_t> d_gate_up(2 * rows * width);
    const DeviceArray<float> weights(share), d_share(rows);
    weighted_activation(stream_, planner::Activation::silu, in.data(), weights.data(), rows, width,
                        activation.data());
    weighted_activation_backward(stream_, planner::Activation::silu, in.data(), weights.data(),
                                 rows, width, gradient.data(), d_gate_up.data(), d_share.data());
    finish();
    EXPECT_TRUE(activation.intact() && gradient.intact() && d_gate_up.intact() && d_share.intact());
    std::vector<double> forward, backward(gate_up.size()), shares;
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        const double g = value_of(gate_up[2 * r * width + c]);
        const double u = value_of(gate_up[(2 * r + 1) * width + c]);
        const double s = 1 / (1 + std::exp(-g)), v = value_of(d[r * width + c]), w = share[r];
        forward.push_back(w * g * s * u);
        sum += v * g * s * u;
        backward[2 * r * width + c] = v * w * u * s * (1 + g * (1 - s));
        backward[(2 * r + 1) * width + c] = v * w * g * s;
      }
      shares.push_back(sum);
    }
    EXPECT_EQ(activation.values(), gradient.values()) << "the activation again";
    expect_close(activation.values(), forward, 2 * kOneRounding, 1e-6, "activation");
    expect_close(d_gate_up.values(), backward, kOneRounding, 1e-5, "d_gate_up");
    expect_close(d_share.values(), shares, kOneRounding, std::sqrt(double(width)), "d_share");
  }
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
