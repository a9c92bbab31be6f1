#define SLUICE_PATH avx512
#include "engine/adamw_kernels.inc"
