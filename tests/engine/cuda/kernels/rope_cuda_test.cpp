// Rotary embedding with and without head norms, against plain loops in double.
#include "engine/cuda/kernels/rope.hpp"
#include "tests/engine/cuda/kernel_test.hpp"
#include "tests/engine/cuda/kernels/rope_reference.hpp"

namespace sluice::engine::cuda::testing {
namespace {

constexpr RopeShape kShapes[] = {
    {.tokens = 1, .seq_len = 1, .heads = 1, .kv_heads = 1, .head_dim = 64},
    {.tokens = 777, .seq_len = 259, .heads = 7, .kv_heads = 1, .head_dim = 128},
    {.tokens = 96, .seq_len = 32, .heads = 6, .kv_heads = 3, .head_dim = 64},
    {.tokens = 33, .seq_len = 33, .heads = 2, .kv_heads = 2, .head_dim = 256}};

class RopeKernel : public KernelTest, public ::testing::WithParamInterface<bool> {
 protected:
  static QueryKey view(const RopeShape& shape, std::uint16_t* packed, std::int64_t stride) {
    return {.q = packed,
            .k = packed + shape.heads * shape.head_dim,
            .q_stride = stride,
            .k_stride = stride};
  }
};
INSTANTIATE_TEST_SUITE_P(HeadNorms, RopeKernel, ::testing::Bool());

TEST_P(RopeKernel, ForwardRotatesPackedRowsInPlace) {
  for (const RopeShape& shape : kShapes) {
    const std::int64_t stride = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    RandomValues random(5);
    const Halves packed = random.halves(shape.tokens * stride, 3);
    const Halves q_norm = random.halves(shape.head_dim, 0.2F, 1);
    const Halves k_norm = random.halves(shape.head_dim, 0.2F, 1);
    const Angles angles(shape);
    std::vector<double> expected = doubles(packed), q_scales, k_scales;
    rotate(shape, angles, {shape.heads, 0, stride, GetParam() ? &q_norm : nullptr}, packed,
           expected, q_scales);
    rotate(shape, angles,
           {shape.kv_heads, shape.heads * shape.head_dim, stride, GetParam() ? &k_norm : nullptr},
           packed, expected, k_scales);
    const DeviceArray<float> cos(angles.cos), sin(angles.sin), q_rstd(shape.tokens * shape.heads),
        k_rstd(shape.tokens * shape.kv_heads);
    const DeviceArray<std::uint16_t> q_weight(q_norm), k_weight(k_norm);
    const HeadNorms norms =
        GetParam() ? HeadNorms{q_weight.data(), k_weight.data(), kRopeEps} : HeadNorms{};
    Halves before;
    for (int run = 0; run < 2; ++run) {
      const DeviceArray<std::uint16_t> rows(packed);
      const QueryKey heads = view(shape, rows.data(), stride);
      rope_forward(stream_, shape, {cos.data(), sin.data()}, norms, heads, heads,
                   {q_rstd.data(), k_rstd.data()});
      finish();
      if (run == 1) {
        EXPECT_EQ(before, rows.values());
      }
      before = rows.values();
      EXPECT_TRUE(rows.intact() && q_rstd.intact() && k_rstd.intact());
    }
    // A normed value on the edge between two bf16 values may be rounded the other way: 2^-8 of it.
    expect_close(before, expected, kOneRounding, GetParam() ? 8.0 : 1e-3, "rotated");
    if (GetParam()) {
      expect_close(q_rstd.values(), q_scales, 1e-6, 0, "q_rstd");
      expect_close(k_rstd.values(), k_scales, 1e-6, 0, "k_rstd");
    }
  }
}

/// Positions that count from the start of a document rotate its rows like those of a sequence.
TEST_P(RopeKernel, DocumentsTurnAsSequences) {
  constexpr std::int64_t kFirst = 20, kSecond = 13;
  RopeShape packed{
      .tokens = kFirst + kSecond, .seq_len = 40, .heads = 4, .kv_heads = 2, .head_dim = 64};
  const std::int64_t stride = (packed.heads + 2 * packed.kv_heads) * packed.head_dim;
  RandomValues random(8);
  const Halves projected = random.halves(packed.tokens * stride);
  const DeviceArray<std::uint16_t> norm(random.halves(packed.head_dim, 0.2F, 1)), raw(projected);
  const Angles angles(packed);
  const DeviceArray<float> cos(angles.cos), sin(angles.sin);
  const HeadNorms norms = GetParam() ? HeadNorms{norm.data(), norm.data(), kRopeEps} : HeadNorms{};
  const DeviceArray<float> q_rstd(packed.tokens * packed.heads);
  const DeviceArray<float> k_rstd(packed.tokens * packed.kv_heads);
  const DeviceArray<std::byte> workspace(rope_backward_workspace(packed).count());
  const DeviceArray<float> d_norm(packed.head_dim);
  const auto turn = [&](RopeShape shape, std::int64_t first, std::uint16_t* rows, bool back) {
    const QueryKey in = view(shape, raw.data() + first * stride, stride);
    const QueryKey out = view(shape, rows, stride);
    const HeadScales scales{q_rstd.data() + first * shape.heads,
                            k_rstd.data() + first * shape.kv_heads};
    const RopeTables tables{cos.data(), sin.data()};
    if (!back) return rope_forward(stream_, shape, tables, norms, in, out, scales);
    HeadNormGradients gradients;
    if (GetParam()) {
      gradients = {.projected = in,
                   .scales = scales,
                   .d_q_norm = d_norm.data(),
                   .d_k_norm = d_norm.data(),
                   .into = Into::overwrite,
                   .workspace = workspace.data()};
    }
    rope_backward(stream_, shape, tables, norms, gradients, out);
  };
  std::vector<std::int32_t> starts(kFirst, 0);
  starts.resize(kFirst + kSecond, kFirst);
  const DeviceArray<std::int32_t> device_starts(starts);
  for (const bool back : {false, true}) {
    const DeviceArray<std::uint16_t> together(projected), apart(projected);
    packed.starts = device_starts.data();
    turn(packed, 0, together.data(), back);
    RopeShape one = packed;
    one.starts = nullptr;
    one.tokens = kFirst;
    turn(one, 0, apart.data(), back);
    one.tokens = kSecond;
    turn(one, kFirst, apart.data() + kFirst * stride, back);
    finish();
    EXPECT_EQ(together.values(), apart.values()) << (back ? "backward" : "forward");
  }
}

TEST_P(RopeKernel, BackwardAgreesWithDoubleAndRepeats) {
  for (const RopeShape& shape : kShapes) {
    const std::int64_t stride = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    RandomValues random(6);
    const Halves packed = random.halves(shape.tokens * stride, 3);
    const Halves d = random.halves(shape.tokens * stride);
    const Halves q_norm = random.halves(shape.head_dim, 0.2F, 1);
    const Halves k_norm = random.halves(shape.head_dim, 0.2F, 1);
    const std::vector<float> earlier = random.floats(shape.head_dim);
    const Angles angles(shape);
    const std::int64_t k_offset = shape.heads * shape.head_dim;
    std::vector<double> expected = doubles(d), d_q, d_k, ignored, q_scales, k_scales;
    const RopePart q{shape.heads, 0, stride, GetParam() ? &q_norm : nullptr};
    const RopePart k{shape.kv_heads, k_offset, stride, GetParam() ? &k_norm : nullptr};
    ignored.resize(packed.size());
    rotate(shape, angles, q, packed, ignored, q_scales);
    rotate(shape, angles, k, packed, ignored, k_scales);
    rotate_back(shape, angles, q, packed, d, expected, d_q);
    rotate_back(shape, angles, k, packed, d, expected, d_k);
    for (std::size_t i = 0; i < earlier.size(); ++i) d_q[i] += earlier[i], d_k[i] += earlier[i];
    const DeviceArray<float> cos(angles.cos), sin(angles.sin);
    const DeviceArray<float> q_rstd(std::vector<float>(q_scales.begin(), q_scales.end()));
    const DeviceArray<float> k_rstd(std::vector<float>(k_scales.begin(), k_scales.end()));
    const DeviceArray<std::uint16_t> q_weight(q_norm), k_weight(k_norm), projected(packed);
    const DeviceArray<std::byte> workspace(rope_backward_workspace(shape).count());
    Halves before;
    std::vector<float> d_q_before;
    for (int run = 0; run < 2; ++run) {
      const DeviceArray<std::uint16_t> rows(d);
      const DeviceArray<float> d_q_norm(earlier), d_k_norm(earlier);
      HeadNormGradients norm_gradients;
      HeadNorms norms;
      if (GetParam()) {
        norms = {q_weight.data(), k_weight.data(), kRopeEps};
        norm_gradients = {.projected = view(shape, projected.data(), stride),
                          .scales = {q_rstd.data(), k_rstd.data()},
                          .d_q_norm = d_q_norm.data(),
                          .d_k_norm = d_k_norm.data(),
                          .workspace = workspace.data()};
      }
      rope_backward(stream_, shape, {cos.data(), sin.data()}, norms, norm_gradients,
                    view(shape, rows.data(), stride));
      finish();
      if (run == 1) {
        EXPECT_EQ(before, rows.values());
        EXPECT_EQ(d_q_before, d_q_norm.values());
      }
      before = rows.values();
      d_q_before = d_q_norm.values();
      EXPECT_TRUE(rows.intact() && d_q_norm.intact() && d_k_norm.intact() && workspace.intact());
      if (!GetParam()) continue;
      const double terms = std::sqrt(double(shape.tokens * shape.heads));
      expect_close(d_q_norm.values(), d_q, 2e-6, terms, "d_q_norm");
      expect_close(d_k_norm.values(), d_k, 2e-6, terms, "d_k_norm");
    }
    expect_close(before, expected, kOneRounding, 1e-3, "d_projected");
  }
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
