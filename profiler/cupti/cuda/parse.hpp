// Conversion of CUPTI's records to those of profiler/cupti/records.hpp.
#pragma once

#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// Adds one activity record, as cuptiActivityGetNextRecord gives it, to `records`. Kinds that
/// attribution does not use (calls of the driver and the runtime) add nothing. Frees what the
/// record owns.
void add_record(const void* record, RecordSet& records);

}  // namespace sluice::profiler::cupti
