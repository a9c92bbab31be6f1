#define SLUICE_PATH avx2
#include "engine/host/elementwise_kernels.inc"
