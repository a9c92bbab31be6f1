#if defined(__AVX2__)
#include "engine/optimizer/adamw_lanes_avx2.inc"
#define SLUICE_LANES Avx2Lanes
#define SLUICE_STREAMS Avx2Streams
#endif
#define SLUICE_PATH avx2
#include "engine/optimizer/adamw_kernels.inc"
