// Convolution, gates and norm around the gated delta rule against the host's.
#include "engine/cuda/kernels/delta_conv.hpp"
#include "engine/cuda/kernels/delta_gates.hpp"
#include "engine/cuda/kernels/gated_norm.hpp"
#include "engine/host/delta_conv.hpp"
#include "engine/host/delta_gates.hpp"
#include "engine/host/gated_norm.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

using Floats = std::vector<float>;
constexpr auto kExact = planner::ComputeType::fp32;

template <class T>
Floats floats(const std::vector<T>& values) {
  Floats result;
  for (const T value : values) result.push_back(value_of(value));
  return result;
}
std::vector<double> wide(const Floats& values) { return {values.begin(), values.end()}; }

/// The first `columns` columns of rows of `row` elements.
template <class T>
std::vector<T> first_columns(const std::vector<T>& rows, std::int64_t row, std::int64_t columns) {
  std::vector<T> cut;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::int64_t>(i) % row < columns) cut.push_back(rows[i]);
  }
  return cut;
}

class DeltaPartsKernel : public KernelTest {};

TEST_F(DeltaPartsKernel, ConvolutionAgreesWithTheHostAcrossDocuments) {
  constexpr std::int64_t kLength = 150, kTokens = 2 * kLength, kChannels = 264, kRow = 280;
  RandomValues random(1);
  const Halves x = random.halves(kTokens * kRow), weight = random.halves(kChannels * 4, 0.5F);
  const Halves d_y = random.halves(kTokens * kChannels);
  std::vector<std::int32_t> starts(kTokens);
  std::vector<std::int64_t> bounds = {0, 70, 71, 73, 150, 300};
  for (std::size_t t = 0; t < starts.size(); ++t) {
    const std::size_t in = t % kLength;
    const bool first = t < kLength;
    starts[t] = !first || in < 70 ? 0 : in < 71 ? 70 : in < 73 ? 71 : 73;
  }
  const Floats inputs = floats(first_columns(x, kRow, kChannels)), taps = floats(weight);
  Floats y(inputs.size()), d_x(inputs.size()), scratch(kChannels), d_weight(taps.size());
  engine::delta_conv(kExact, bounds, kChannels, inputs.data(), taps.data(), y.data());
  engine::delta_conv_backward(kExact, bounds, kChannels, inputs.data(), taps.data(),
                              floats(d_y).data(), scratch.data(), d_x.data(), d_weight.data());

  const DeviceArray<std::uint16_t> in(x), w(weight), d(d_y), out(kTokens * kChannels);
  const DeviceArray<std::uint16_t> d_in(kTokens * kRow);
  const DeviceArray<std::int32_t> begins(starts);
  const DeviceArray<float> gradient(kChannels * 4);
  const DeviceArray<std::byte> workspace(delta_conv_workspace(kTokens, kChannels).count());
  const DeltaConvShape shape{kTokens, kLength, kChannels, kRow, begins.data()};
  delta_conv(stream_, shape, in.data(), w.data(), out.data());
  delta_conv_backward(stream_, shape, in.data(), w.data(), d.data(), d_in.data(), gradient.data(),
                      Into::overwrite, workspace.data());
  finish();
  const Floats once = gradient.values();
  expect_close(out.values(), wide(y), kOneRounding, 1e-5, "y");
  expect_close(first_columns(d_in.values(), kRow, kChannels), wide(d_x), kOneRounding, 1e-4, "d_x");
  expect_close(once, wide(d_weight), 1e-5, 10, "d_weight");
  delta_conv_backward(stream_, shape, in.data(), w.data(), d.data(), d_in.data(), gradient.data(),
                      Into::accumulate, workspace.data());
  finish();
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(gradient.values()[i], 2 * once[i]);
  EXPECT_TRUE(out.intact() && d_in.intact() && gradient.intact() && workspace.intact());
}

TEST_F(DeltaPartsKernel, ConvolutionInPiecesHasTheBitsOfTheWhole) {
  constexpr std::int64_t kTokens = 100, kChannels = 264;
  RandomValues random(2);
  const Halves x = random.halves(kTokens * kChannels), weight = random.halves(kChannels * 4, 0.5F);
  const DeviceArray<std::uint16_t> in(x), w(weight), whole(kTokens * kChannels),
      pieces(kTokens * kChannels);
  const DeviceArray<float> window(Floats(3 * kChannels, 0.0F));
  delta_conv(stream_, {kTokens, kTokens, kChannels, kChannels}, in.data(), w.data(), whole.data());
  std::int64_t first = 0;
  for (const std::int64_t count : {1, 2, 64, 33}) {
    delta_conv_extend(stream_, {count, kTokens, kChannels, kChannels},
                      in.data() + first * kChannels, w.data(), window.data(),
                      pieces.data() + first * kChannels);
    first += count;
  }
  finish();
  EXPECT_EQ(pieces.values(), whole.values());
  EXPECT_TRUE(pieces.intact() && window.intact());
}

TEST_F(DeltaPartsKernel, GatesAgreeWithTheHost) {
  constexpr std::int64_t kTokens = 700, kHeads = 12, kRow = 40;
  RandomValues random(3);
  const Halves rows = random.halves(kTokens * kRow, 2), log_rate = random.halves(kHeads),
               time_bias = random.halves(kHeads);
  const Floats d_g = random.floats(kTokens * kHeads), d_beta = random.floats(kTokens * kHeads);
  Floats a, b;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      b.push_back(value_of(rows[static_cast<std::size_t>(t * kRow + h)]));
      a.push_back(value_of(rows[static_cast<std::size_t>(t * kRow + kHeads + h)]));
    }
  }
  const Floats rates = floats(log_rate), biases = floats(time_bias);
  const DeltaDecay decay{rates.data(), biases.data()};
  Floats g(a.size()), beta(a.size()), d_a(a.size()), d_b(a.size()), of_rate(kHeads),
      of_bias(kHeads);
  engine::delta_gates(kTokens, kHeads, decay, a.data(), b.data(), g.data(), beta.data());
  engine::delta_gates_backward(kTokens, kHeads, decay, a.data(), b.data(), d_g.data(),
                               d_beta.data(), d_a.data(), d_b.data(),
                               {of_rate.data(), of_bias.data()});

  const DeviceArray<std::uint16_t> in(rows), rate(log_rate), bias(time_bias), d_in(kTokens * kRow);
  const DeviceArray<float> decays(kTokens * kHeads), shares(kTokens * kHeads), d_decays(d_g),
      d_shares(d_beta), d_rate(kHeads), d_bias(kHeads);
  const DeltaGates gates{.tokens = kTokens,
                         .heads = kHeads,
                         .row = kRow,
                         .b = in.data(),
                         .a = in.data() + kHeads,
                         .log_rate = rate.data(),
                         .time_bias = bias.data()};
  delta_gates(stream_, gates, decays.data(), shares.data());
  delta_gates_backward(stream_, gates, d_decays.data(), d_shares.data(),
                       {.d_b = d_in.data(),
                        .d_a = d_in.data() + kHeads,
                        .log_rate = d_rate.data(),
                        .time_bias = d_bias.data(),
                        .into = Into::overwrite});
  finish();
  expect_close(decays.values(), wide(g), 1e-6, 0, "g");
  expect_close(shares.values(), wide(beta), 1e-6, 0, "beta");
  Halves got_a, got_b;
  const Halves got = d_in.values();
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      got_b.push_back(got[static_cast<std::size_t>(t * kRow + h)]);
      got_a.push_back(got[static_cast<std::size_t>(t * kRow + kHeads + h)]);
    }
  }
  expect_close(got_a, wide(d_a), kOneRounding, 0, "d_a");
  expect_close(got_b, wide(d_b), kOneRounding, 0, "d_b");
  expect_close(d_rate.values(), wide(of_rate), 1e-6, 1e-3, "log_rate");
  expect_close(d_bias.values(), wide(of_bias), 1e-6, 1e-3, "time_bias");
  EXPECT_TRUE(decays.intact() && shares.intact() && d_in.intact() && d_rate.intact());
}

TEST_F(DeltaPartsKernel, GatedNormAgreesWithTheHost) {
  constexpr float kEps = 1e-6F;
  for (const std::int64_t cols : {16, 112, 128, 256}) {
    constexpr std::int64_t kTokens = 333, kHeads = 3;
    const std::int64_t width = kHeads * cols, row = width + 24;
    RandomValues random(static_cast<unsigned>(cols));
    const Halves x = random.halves(kTokens * width, 2), z = random.halves(kTokens * row, 2);
    const Halves weight = random.halves(cols, 0.2F, 1), d_y = random.halves(kTokens * width);
    const Floats gate = floats(first_columns(z, row, width)), scale = floats(weight);
    Floats y(gate.size()), d_x(gate.size()), d_z(gate.size()), d_weight(scale.size());
    engine::gated_norm(kExact, kTokens * kHeads, cols, floats(x).data(), gate.data(), scale.data(),
                       kEps, y.data());
    engine::gated_norm_backward(kExact, kTokens * kHeads, cols, floats(x).data(), gate.data(),
                                scale.data(), kEps, floats(d_y).data(), d_x.data(), d_z.data(),
                                d_weight.data());

    const DeviceArray<std::uint16_t> in(x), gates(z), w(weight), d(d_y), out(kTokens * width),
        d_gates(kTokens * row);
    const DeviceArray<float> gradient(cols);
    const DeviceArray<std::byte> workspace(gated_norm_workspace(kTokens * kHeads, cols).count());
    const GatedNorm norm{.tokens = kTokens,
                         .heads = kHeads,
                         .cols = cols,
                         .gate_row = row,
                         .x = in.data(),
                         .z = gates.data(),
                         .weight = w.data(),
                         .eps = kEps};
    gated_norm(stream_, norm, out.data());
    gated_norm_backward(stream_, norm, d.data(), d_gates.data(), gradient.data(), Into::overwrite,
                        workspace.data());
    finish();
    expect_close(out.values(), wide(y), kOneRounding, 1e-5, "y");
    expect_close(d.values(), wide(d_x), kOneRounding, 1e-4, "d_x");
    expect_close(first_columns(d_gates.values(), row, width), wide(d_z), kOneRounding, 1e-5, "d_z");
    expect_close(gradient.values(), wide(d_weight), 1e-5, 10, "d_weight");
    EXPECT_TRUE(out.intact() && d.intact() && d_gates.intact() && gradient.intact() &&
                workspace.intact());
  }
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
