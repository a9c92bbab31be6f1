// Attention of a sequence of 512 K tokens with the rows of Qwen2.5-7B: operands of more than 2^31
// elements, and a backward pass in blocks of queries. One group of two heads stands for all; a few
// queries and keys are computed in double precision.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include "engine/cuda/attention/attention.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine {
namespace {

using cuda::testing::DeviceArray;
using cuda::testing::Halves;
using cuda::testing::RandomValues;
using cuda::testing::succeed;
using cuda::testing::value_of;

constexpr std::int64_t kLength = 524288, kHeadDim = 128, kHeads = 2;
constexpr std::int64_t kQkvRow = 36 * kHeadDim, kOutRow = 28 * kHeadDim;
const double kScale = 1 / std::sqrt(double{kHeadDim});

AttentionShape long_shape() {
  return {.sequences = 1,
          .length = kLength,
          .heads = kHeads,
          .kv_heads = 1,
          .head_dim = kHeadDim,
          .qkv_row = kQkvRow,
          .out_row = kOutRow};
}

/// Heads of all tokens, [length, heads * head_dim], on the host.
struct Heads {
  std::int64_t count;
  Halves values;
  [[nodiscard]] std::span<const std::uint16_t> of(std::int64_t token, std::int64_t head) const {
    return std::span(values).subspan(static_cast<std::size_t>((token * count + head) * kHeadDim),
                                     static_cast<std::size_t>(kHeadDim));
  }
};

Heads random_heads(std::int64_t count, unsigned seed) {
  return {count, RandomValues(seed).halves(kLength * count * kHeadDim)};
}

/// Copies between rows on the device and packed rows on the host.
void copy_heads(void* to, std::int64_t to_row, const void* from, std::int64_t from_row,
                std::int64_t heads) {
  const auto bytes = [](std::int64_t elements) { return 2 * static_cast<std::size_t>(elements); };
  succeed(cudaMemcpy2D(to, bytes(to_row), from, bytes(from_row), bytes(heads * kHeadDim),
                       static_cast<std::size_t>(kLength), cudaMemcpyDefault),
          "rows of heads");
}

Heads read_heads(const std::uint16_t* from, std::int64_t row, std::int64_t heads) {
  Heads read{heads, Halves(static_cast<std::size_t>(kLength * heads * kHeadDim))};
  copy_heads(read.values.data(), heads * kHeadDim, from, row, heads);
  return read;
}

double dot(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  float sums[8] = {};  // Accurate enough for a tolerance of a hundredth, and fast.
  for (std::size_t i = 0; i < a.size(); ++i) sums[i % 8] += value_of(a[i]) * value_of(b[i]);
  double sum = 0;
  for (const float part : sums) sum += static_cast<double>(part);
  return sum;
}

using Row = std::vector<double>;

void add(Row& row, double factor, std::span<const std::uint16_t> values) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] += factor * static_cast<double>(value_of(values[i]));
  }
}

double row_error(std::span<const std::uint16_t> actual, const Row& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = static_cast<double>(value_of(actual[i])) - expected[i];
    difference += error * error;
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

struct LongAttention {
  Heads q, k, v, d_out, out, d_q, d_k, d_v;
  std::vector<float> lse;  ///< [heads, length]

  [[nodiscard]] double lse_of(std::int64_t query, std::int64_t head) const {
    return static_cast<double>(lse[static_cast<std::size_t>(head * kLength + query)]);
  }
  [[nodiscard]] double weight(std::int64_t query, std::int64_t head, std::int64_t key) const {
    return std::exp(kScale * dot(q.of(query, head), k.of(key, 0)) - lse_of(query, head));
  }
  /// Gradient of a scaled score, with the result's own sum of out * d_out.
  [[nodiscard]] double d_score(std::int64_t query, std::int64_t head, std::int64_t key) const {
    const auto d = d_out.of(query, head);
    return kScale * weight(query, head, key) * (dot(d, v.of(key, 0)) - dot(d, out.of(query, head)));
  }
};

class LongAttentionTest : public cuda::testing::KernelTest {
 protected:
  /// Runs forward and backward on the device.
  LongAttention run() {
    LongAttention all{.q = random_heads(kHeads, 1),
                      .k = random_heads(1, 2),
                      .v = random_heads(1, 3),
                      .d_out = random_heads(kHeads, 4),
                      .out = {},
                      .d_q = {},
                      .d_k = {},
                      .d_v = {},
                      .lse = {}};
    const Cudnn cudnn;
    const CudaAttention attention(cudnn, long_shape());
    std::printf("  %.200s...\n", attention.engines().c_str());
    const DeviceArray<std::uint16_t> qkv(kLength * kQkvRow), d_qkv(kLength * kQkvRow);
    const DeviceArray<std::uint16_t> out(kLength * kOutRow), d_out(kLength * kOutRow);
    const DeviceArray<float> lse(kLength * kHeads);
    const DeviceArray<std::byte> workspace(
        std::max(attention.forward_workspace(), attention.backward_workspace()).count());
    // The last heads of a row: past element 2^31 in the last rows.
    const std::int64_t q = kQkvRow - 4 * kHeadDim, k = q + 2 * kHeadDim, v = k + kHeadDim;
    const std::int64_t o = kOutRow - 2 * kHeadDim;
    copy_heads(qkv.data() + q, kQkvRow, all.q.values.data(), 2 * kHeadDim, 2);
    copy_heads(qkv.data() + k, kQkvRow, all.k.values.data(), kHeadDim, 1);
    copy_heads(qkv.data() + v, kQkvRow, all.v.values.data(), kHeadDim, 1);
    copy_heads(d_out.data() + o, kOutRow, all.d_out.values.data(), 2 * kHeadDim, 2);
    succeed(cudaDeviceSynchronize(), "operands");
    attention.forward(stream_, qkv.data() + q, qkv.data() + k, qkv.data() + v, out.data() + o,
                      lse.data(), workspace.data());
    attention.backward(stream_, qkv.data() + q, qkv.data() + k, qkv.data() + v, out.data() + o,
                       lse.data(), d_out.data() + o, d_qkv.data() + q, d_qkv.data() + k,
                       d_qkv.data() + v, workspace.data());
    finish();
    all.out = read_heads(out.data() + o, kOutRow, kHeads);
    all.d_q = read_heads(d_qkv.data() + q, kQkvRow, kHeads);
    all.d_k = read_heads(d_qkv.data() + k, kQkvRow, 1);
    all.d_v = read_heads(d_qkv.data() + v, kQkvRow, 1);
    all.lse = lse.values();
    return all;
  }
};

/// Roundings to bf16 in the kernels move a row by less than a hundredth of its norm; a block that
/// is missed, or read at a wrong address, moves it by most of its norm.
constexpr double kTolerance = 0.02;

void expect_query(const LongAttention& all, std::int64_t query, std::int64_t head) {
  Row out(kHeadDim), d_q(kHeadDim);
  double sum = 0;
  for (std::int64_t key = 0; key <= query; ++key) {
    const double weight = all.weight(query, head, key);
    sum += weight;
    add(out, weight, all.v.of(key, 0));
    add(d_q, all.d_score(query, head, key), all.k.of(key, 0));
  }
  EXPECT_NEAR(sum, 1, 1e-3) << "the log-sum-exp of query " << query;
  EXPECT_LT(row_error(all.out.of(query, head), out), kTolerance) << "query " << query;
  EXPECT_LT(row_error(all.d_q.of(query, head), d_q), kTolerance) << "query " << query;
}

void expect_key(const LongAttention& all, std::int64_t key) {
  Row d_k(kHeadDim), d_v(kHeadDim);
  for (std::int64_t head = 0; head < kHeads; ++head) {
    for (std::int64_t query = key; query < kLength; ++query) {
      add(d_v, all.weight(query, head, key), all.d_out.of(query, head));
      add(d_k, all.d_score(query, head, key), all.q.of(query, head));
    }
  }
  EXPECT_LT(row_error(all.d_k.of(key, 0), d_k), kTolerance) << "key " << key;
  EXPECT_LT(row_error(all.d_v.of(key, 0), d_v), kTolerance) << "key " << key;
}

TEST_F(LongAttentionTest, HalfAMillionTokensAgreeWithDoublePrecision) {
  std::size_t free = 0, total = 0;
  succeed(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (free < std::size_t{32} << 30) GTEST_SKIP() << "needs 32 GiB of free device memory";
  const LongAttention all = run();
  expect_query(all, 4095, 0);            // The last query of the first block.
  expect_query(all, 4096, 1);            // The first query of the second block.
  expect_query(all, kLength - 1, 1);     // This query sees all keys, past element 2^31.
  expect_key(all, 7);                    // Nearly all queries see this key.
  expect_key(all, kLength - 4096 - 64);  // Queries of two blocks see this key.
}

}  // namespace
}  // namespace sluice::engine
