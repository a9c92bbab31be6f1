#define SLUICE_PATH portable
#include "engine/state/normal_batch.inc"
