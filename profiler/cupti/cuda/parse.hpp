// Converts CUPTI's records to ours.
#pragma once

#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// Adds one activity record, as cuptiActivityGetNextRecord gives it. Kinds that attribution does
/// not use (calls of the driver and the runtime) add nothing. Frees what the record owns.
void add_record(const void* record, RecordSet& records);

}  // namespace sluice::profiler::cupti
