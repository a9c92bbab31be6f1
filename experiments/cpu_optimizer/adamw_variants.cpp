#include "experiments/cpu_optimizer/adamw_variants.hpp"

#if defined(__AVX512F__)
#include "engine/optimizer/adamw_lanes_avx512.inc"
#include "engine/optimizer/adamw_lines.inc"

namespace sluice::engine::bench {
namespace {

enum class Hint { l1, l2, passing };

template <class Stores, std::int64_t kDistance, Hint kHint>
struct Variant : Stores {
  static constexpr std::int64_t kAhead = kDistance;
  static inline __attribute__((always_inline)) void prefetch(const void* line) {
    const char* address = static_cast<const char*>(line);
    if (kHint == Hint::l1) _mm_prefetch(address, _MM_HINT_T0);
    if (kHint == Hint::l2) _mm_prefetch(address, _MM_HINT_T1);
    if (kHint == Hint::passing) _mm_prefetch(address, _MM_HINT_NTA);
  }
};
template <std::int64_t kDistance, Hint kHint>
using Streamed = Variant<Avx512Streams, kDistance, kHint>;
template <std::int64_t kDistance, Hint kHint>
using Cached = Variant<Avx512Lanes, kDistance, kHint>;

template <class Lanes>
void update_fp32(const AdamWOperands& operands, std::int64_t begin, std::int64_t end,
                 bool /*decays*/, const AdamWStep& step) {
  update_lines<Lanes, float, true>(operands, begin, end, step);
}

}  // namespace

std::span<const AdamWVariant> adamw_variants() {
  static constexpr AdamWVariant kAll[] = {
      {"streamed, no prefetch", update_fp32<Streamed<0, Hint::l1>>},
      {"streamed,  128 ahead, L1", update_fp32<Streamed<128, Hint::l1>>},
      {"streamed,  256 ahead, L1", update_fp32<Streamed<256, Hint::l1>>},
      {"streamed,  512 ahead, L1", update_fp32<Streamed<512, Hint::l1>>},
      {"streamed, 1024 ahead, L1", update_fp32<Streamed<1024, Hint::l1>>},
      {"streamed,  512 ahead, L2", update_fp32<Streamed<512, Hint::l2>>},
      {"streamed, 1024 ahead, L2", update_fp32<Streamed<1024, Hint::l2>>},
      {"streamed, 2048 ahead, L2", update_fp32<Streamed<2048, Hint::l2>>},
      {"streamed, 4096 ahead, L2", update_fp32<Streamed<4096, Hint::l2>>},
      {"streamed,  256 ahead, passing", update_fp32<Streamed<256, Hint::passing>>},
      {"streamed,  512 ahead, passing", update_fp32<Streamed<512, Hint::passing>>},
      {"cached, no prefetch", update_fp32<Cached<0, Hint::l1>>},
      {"cached,    256 ahead, L1", update_fp32<Cached<256, Hint::l1>>},
      {"cached,    512 ahead, L1", update_fp32<Cached<512, Hint::l1>>},
      {"cached,   1024 ahead, L2", update_fp32<Cached<1024, Hint::l2>>},
      {"cached,   2048 ahead, L2", update_fp32<Cached<2048, Hint::l2>>},
      {"cached,    512 ahead, passing", update_fp32<Cached<512, Hint::passing>>},
  };
  return kAll;
}

}  // namespace sluice::engine::bench

#else

namespace sluice::engine::bench {
std::span<const AdamWVariant> adamw_variants() { return {}; }
}  // namespace sluice::engine::bench

#endif
