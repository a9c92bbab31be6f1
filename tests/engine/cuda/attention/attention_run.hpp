// Runs attention on the device with random operands, and compares its results with the reference in
// double precision, within error bounds derived from its roundings to bf16.
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

/// Standard normal operands, equal for equal shapes.
struct AttentionInputs {
  explicit AttentionInputs(const AttentionShape& shape);
  std::vector<Bf16> qkv, d_out;
  /// Starts of documents of random lengths; empty without documents.
  std::vector<std::int32_t> starts;
};

/// Runs both passes. Results and workspaces are filled with 0xFF (NaN) first, so that what is not
/// written shows.
[[nodiscard]] AttentionResults run(const CudaAttention& attention, const AttentionShape& shape,
                                   const AttentionInputs& inputs);

void expect_agreement(const AttentionResults& results, const AttentionShape& shape,
                      const AttentionInputs& inputs);
/// Expects that columns beyond `used` of each row were not written.
void expect_untouched(const std::vector<Bf16>& values, std::int64_t row, std::int64_t used);

class CudaAttentionTest : public testing::TestWithParam<AttentionShape> {
 protected:
  void SetUp() override;
  std::unique_ptr<Cudnn> cudnn_;
};

/// Shapes with and without shared heads, padded rows, lengths that are no multiple of a tile,
/// windows, documents.
[[nodiscard]] std::vector<AttentionShape> attention_shapes();
[[nodiscard]] std::string attention_shape_name(const testing::TestParamInfo<AttentionShape>& shape);

}  // namespace sluice::engine
