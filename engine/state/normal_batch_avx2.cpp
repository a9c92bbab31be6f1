#define SLUICE_PATH avx2
#include "engine/state/normal_batch.inc"
