// Runs attention on the device with random operands, and holds its results against the reference in
// double precision, with error bounds from the roundings to bf16 it makes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/cuda/attention/attention.hpp"
#include "engine/cuda/attention/cudnn.hpp"

namespace sluice::engine {

using Bf16 = std::uint16_t;

struct AttentionResults {
  std::vector<Bf16> out, d_qkv;
  std::vector<float> lse;
  friend bool operator==(const AttentionResults& a, const AttentionResults& b) {
    return a.out == b.out && a.d_qkv == b.d_qkv &&
           std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
  }
};

/// Standard normal, the same for the same shape.
struct AttentionInputs {
  explicit AttentionInputs(const AttentionShape& shape);
  std::vector<Bf16> qkv, d_out;
  std::vector<std::int32_t> starts;  ///< Of documents of random lengths; empty without documents.
};

/// Forward and backward. Results and workspaces start as NaN: what is not written reads 0xFFFF.
[[nodiscard]] AttentionResults run(const CudaAttention& attention, const AttentionShape& shape,
                                   const AttentionInputs& inputs);

void expect_agreement(const AttentionResults& results, const AttentionShape& shape,
                      const AttentionInputs& inputs);
/// Columns past the heads belong to somebody else.
void expect_untouched(const std::vector<Bf16>& values, std::int64_t row, std::int64_t used);

class CudaAttentionTest : public testing::TestWithParam<AttentionShape> {
 protected:
  void SetUp() override;
  std::unique_ptr<Cudnn> cudnn_;
};

/// Heads that share keys and heads that do not, padded rows, lengths that are no multiple of a
/// tile, windows, documents.
[[nodiscard]] std::vector<AttentionShape> attention_shapes();
[[nodiscard]] std::string attention_shape_name(const testing::TestParamInfo<AttentionShape>& shape);

}  // namespace sluice::engine
