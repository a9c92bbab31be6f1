#define SLUICE_PATH portable
#include "engine/adamw_kernels.inc"
