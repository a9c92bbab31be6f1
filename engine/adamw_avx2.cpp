#if defined(__AVX2__)
#include "engine/adamw_lanes_avx2.inc"
#define SLUICE_LANES Avx2Lanes
#endif
#define SLUICE_PATH avx2
#include "engine/adamw_kernels.inc"
