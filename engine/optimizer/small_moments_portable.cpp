#define SLUICE_PATH portable
#include "engine/optimizer/small_moments.inc"
