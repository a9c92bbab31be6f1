#define SLUICE_PATH portable
#include "engine/host/elementwise_kernels.inc"
