// SHA-256 with the x86 SHA extensions, which are several times as fast; whole checkpoints are
// hashed.
#include "planner/files/hash_blocks.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace sluice::planner {

bool has_sha_ni() {
  constexpr unsigned kShaBit = 1U << 29;  // CPUID leaf 7, EBX
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kShaBit) != 0 &&
         __builtin_cpu_supports("sse4.1") != 0;
}

/// Compression by Intel's "New Instructions Supporting the Secure Hash Algorithm" (2013): the state
/// as two vectors of A, B, E, F and C, D, G, H; four rounds at a time.
__attribute__((target("sha,sse4.1"))) void sha256_blocks_ni(std::uint32_t* state,
                                                            const std::uint8_t* blocks,
                                                            std::size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto load = [](const void* from) __attribute__((target("sha,sse4.1"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i cdab = _mm_shuffle_epi32(load(state), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; --count, blocks += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
    for (std::size_t i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(load(blocks + 16 * i), swap);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      __m128i& now = w[i % 4];
      const __m128i with_constants = _mm_add_epi32(now, load(kSha256Rounds.data() + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, with_constants);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(with_constants, 0x0e));
      // W of four rounds later: sigma0 of W[t-15] on W[t-16], then W[t-7], then sigma1 of W[t-2].
      const __m128i seven_before = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
      now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]), seven_before);
      now = _mm_sha256msg2_epu32(now, w[(i + 3) % 4]);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace sluice::planner

#else

namespace sluice::planner {

bool has_sha_ni() { return false; }
void sha256_blocks_ni(std::uint32_t*, const std::uint8_t*, std::size_t) {}

}  // namespace sluice::planner

#endif
