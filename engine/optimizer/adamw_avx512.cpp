#if defined(__AVX512F__)
#include "engine/optimizer/adamw_lanes_avx512.inc"
#define SLUICE_LANES Avx512Lanes
#define SLUICE_STREAMS Avx512Streams
#endif
#define SLUICE_PATH avx512
#include "engine/optimizer/adamw_kernels.inc"
