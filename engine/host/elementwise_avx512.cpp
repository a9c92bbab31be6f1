#define SLUICE_PATH avx512
#include "engine/host/elementwise_kernels.inc"
