#define SLUICE_PATH avx512
#include "engine/state/normal_batch.inc"
