#define SLUICE_PATH avx512
#include "engine/optimizer/small_moments.inc"
