#define SLUICE_PATH portable
#include "engine/optimizer/adamw_kernels.inc"
