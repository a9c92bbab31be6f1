#define SLUICE_PATH avx2
#include "engine/optimizer/small_moments.inc"
