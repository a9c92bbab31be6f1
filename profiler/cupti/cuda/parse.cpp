#include "profiler/cupti/cuda/parse.hpp"

#include <cupti.h>

#include <cstdlib>
#include <string_view>

namespace sluice::profiler::cupti {
namespace {

// Newer versions of a record begin with the fields of older ones: these suffice, and compile with
// the headers of CUDA 12 too.
using Kernel = CUpti_ActivityKernel9;
using Copy = CUpti_ActivityMemcpy5;
using Fill = CUpti_ActivityMemset4;

DeviceInstant instant(std::uint64_t nanoseconds) {
  return DeviceInstant(DeviceClock::duration(static_cast<std::int64_t>(nanoseconds)));
}

Bytes bytes(std::uint64_t count) { return Bytes(static_cast<std::int64_t>(count)); }

CopyKind copy_kind(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return CopyKind::host_to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return CopyKind::device_to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return CopyKind::device_to_device;
    default:
      return CopyKind::other;
  }
}

std::string name_of(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "driver compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "resources";
    default:
      return "overhead " + std::to_string(static_cast<int>(kind));
  }
}

void add(const Kernel& kernel, RecordSet& records) {
  records.activities.push_back({.kind = ActivityKind::kernel,
                                .correlation = kernel.correlationId,
                                .stream = kernel.streamId,
                                .start = instant(kernel.start),
                                .end = instant(kernel.end),
                                .bytes = Bytes(0),
                                .copy = CopyKind::none,
                                .name = kernel.name == nullptr ? "" : kernel.name});
}

void add(const Copy& copy, RecordSet& records) {
  records.activities.push_back({.kind = ActivityKind::copy,
                                .correlation = copy.correlationId,
                                .stream = copy.streamId,
                                .start = instant(copy.start),
                                .end = instant(copy.end),
                                .bytes = bytes(copy.bytes),
                                .copy = copy_kind(copy.copyKind),
                                .name = {}});
}

void add(const Fill& fill, RecordSet& records) {
  records.activities.push_back({.kind = ActivityKind::fill,
                                .correlation = fill.correlationId,
                                .stream = fill.streamId,
                                .start = instant(fill.start),
                                .end = instant(fill.end),
                                .bytes = bytes(fill.bytes),
                                .copy = CopyKind::none,
                                .name = {}});
}

void add(const CUpti_ActivityOverhead3& overhead, RecordSet& records) {
  records.overheads.push_back(
      {name_of(overhead.overheadKind), instant(overhead.start), instant(overhead.end)});
  std::free(overhead.overheadData);  // The reader owns it.
}

}  // namespace

void add_record(const void* record, RecordSet& records) {
  switch (static_cast<const CUpti_Activity*>(record)->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add(*static_cast<const Kernel*>(record), records);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add(*static_cast<const Copy*>(record), records);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add(*static_cast<const Fill*>(record), records);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return add(*static_cast<const CUpti_ActivityOverhead3*>(record), records);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& tag = *static_cast<const CUpti_ActivityExternalCorrelation*>(record);
      if (tag.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) return;
      records.tags.push_back({tag.correlationId, tag.externalId});
      return;
    }
    default:
      return;
  }
}

}  // namespace sluice::profiler::cupti
