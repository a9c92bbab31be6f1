#define SLUICE_PATH avx2
#include "engine/adamw_kernels.inc"
