// Codes of moments in 8 bits: for every kMomentBlock elements one fp32 scale, the largest magnitude
// among them, and for each element the number of the nearest value of a dynamic map, times the
// scale. Source: Dettmers, Lewis, Shleifer and Zettlemoyer, "8-bit optimizers via block-wise
// quantization" (arXiv 2110.02861): decade 10^-d of the interval (0, 1] is cut into equal cells,
// twice as many in each decade as in the one below, whose middles are the values, beside 0 and 1.
//   v (unsigned)  decades 10^-6 to 10^0 of 2 to 128 cells: 254 middles, 0 and 1
//   m (signed)    a bit for the sign; decades 10^-5 to 10^0 of 2 to 64 cells: 126 middles, 0 and 1
// The paper's signed map has a cell at 10^-6 more and lacks -1; with both ends a block's scale is a
// value of the map for either sign, and coding the decoded values again gives the same codes and
// the same scale. Host and CUDA device share these functions, so that they give equal bits; they
// have internal linkage, because sources for one instruction set call them.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define SLUICE_ON_BOTH __host__ __device__
#else
#define SLUICE_ON_BOTH
#endif

namespace sluice::engine {

/// Number of stretches of a map in which the nearest value is found by one product: one for 0 and
/// one for each decade.
inline constexpr int kMapStretches = 8;

/// A dynamic map of magnitudes in [0, 1].
struct MomentMap {
  /// Value of every code; of the signed map those from 128 on are negative.
  float value[256];
  /// Magnitudes from border[s] up to border[s + 1] belong to stretch s; from `top` on the nearest
  /// value is 1.
  float border[kMapStretches];
  float top;
  /// The nearest value of magnitude x in stretch s has the code floor(slope[s] x + offset[s]),
  /// limited to first[s] and last[s].
  float slope[kMapStretches], offset[kMapStretches];
  std::int32_t first[kMapStretches], last[kMapStretches];
  std::int32_t one;  ///< Code of the value 1.
};

/// The map with 2^bits cells in its topmost decade, and decades down to one of 2 cells.
[[nodiscard]] static constexpr MomentMap moment_map(int bits, bool is_signed) {
  MomentMap map{};
  double values[256] = {};
  int begin[kMapStretches] = {};
  int codes = 1, stretch = 1;
  double ends = 1;
  for (int decade = 1; decade < bits; ++decade) ends /= 10;
  for (int cells_log2 = 1; cells_log2 <= bits; ++cells_log2, ends *= 10, ++stretch) {
    const int cells = 1 << cells_log2;
    const double width = 0.9 * ends / cells;
    begin[stretch] = codes;
    map.slope[stretch] = static_cast<float>(1 / width);
    map.offset[stretch] = static_cast<float>(codes - 0.1 * ends / width);
    for (int cell = 0; cell < cells; ++cell) {
      values[codes++] = 0.1 * ends + width * (cell + 0.5);
    }
    map.first[stretch] = begin[stretch];
    map.last[stretch] = codes - 1;
  }
  values[codes] = 1;
  map.one = codes;
  const auto middle = [&values](int code) {
    return static_cast<float>((values[code] + values[code - 1]) / 2);
  };
  for (int s = 1; s < kMapStretches; ++s) {
    // A stretch that the map lacks begins above every magnitude.
    map.border[s] = s < stretch ? middle(begin[s]) : 2.0F;
  }
  map.top = middle(codes);
  for (int code = 0; code <= codes; ++code) {
    map.value[code] = static_cast<float>(values[code]);
    if (is_signed) map.value[code + 128] = -map.value[code];
  }
  return map;
}

inline constexpr MomentMap kFirstMomentMap = moment_map(6, true);
inline constexpr MomentMap kSecondMomentMap = moment_map(7, false);
static_assert(kFirstMomentMap.one == 127 && kSecondMomentMap.one == 255);

/// Least scale of a block that is not all zero: below, a value times its scale could be denormal.
inline constexpr float kLeastMomentScale = 0x1p-100F;

/// Scale of a block whose largest magnitude is `largest`, which is NaN if one of them is.
[[nodiscard]] static constexpr float moment_scale(float largest) {
  return largest < kLeastMomentScale ? 0.0F : largest;
}
/// What magnitudes are multiplied by before they are coded: 1 / scale; 0 for a scale that is 0 or
/// not finite, whose codes are all 0.
[[nodiscard]] static constexpr float inverse_scale(float scale) {
  const auto bits = __builtin_bit_cast(std::uint32_t, scale);
  return bits == 0 || bits >= 0x7f800000u ? 0.0F : 1.0F / scale;
}

/// The value of a b + c, rounded once.
[[nodiscard]] SLUICE_ON_BOTH static inline float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

/// Code of the value of `map` nearest to `magnitude`, which is at least 0.
[[nodiscard]] SLUICE_ON_BOTH static inline std::int32_t moment_code(const MomentMap& map,
                                                                    float magnitude) {
  float slope = 0, offset = 0;
  std::int32_t first = 0, last = 0;
  for (int s = 1; s < kMapStretches; ++s) {
    const bool above = magnitude >= map.border[s];
    slope = above ? map.slope[s] : slope;
    offset = above ? map.offset[s] : offset;
    first = above ? map.first[s] : first;
    last = above ? map.last[s] : last;
  }
  auto code = static_cast<std::int32_t>(fused(slope, magnitude, offset));
  code = code < first ? first : code;
  code = code > last ? last : code;
  return magnitude >= map.top ? map.one : code;
}

}  // namespace sluice::engine
