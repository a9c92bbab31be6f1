// Streams, events and device memory that the probe's loads own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "sim/units.hpp"

namespace sluice::profiler {

struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
struct FreeDeviceMemory {
  void operator()(void* memory) const { cudaFree(memory); }
};
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;
using DeviceMemory = std::unique_ptr<void, FreeDeviceMemory>;

/// Purpose of an event.
enum class EventUse {
  timing,  ///< For measuring time with elapsed().
  /// For waiting, without a time: a thread that waits for the event sleeps instead of spinning, so
  /// that it takes no core from the CPU optimizer.
  waiting,
};

/// Makes a stream that does not wait for the default stream. Throws EnvironmentError naming what
/// failed.
[[nodiscard]] Stream make_stream();
[[nodiscard]] Event make_event(EventUse use);
[[nodiscard]] DeviceMemory allocate_device(Bytes bytes);
/// Device memory with `count` normally distributed bf16 numbers times `scale`: about four million
/// numbers, repeated. Operands of zeros would let the GPU clock higher than training does. Throws
/// EnvironmentError.
[[nodiscard]] DeviceMemory random_bf16(std::int64_t count, float scale = 1.0F);

/// Time from event `begin` to event `end`, both recorded on one stream; waits for `end`.
[[nodiscard]] Seconds elapsed(cudaEvent_t begin, cudaEvent_t end);
void record(cudaEvent_t event, cudaStream_t stream);
void wait(cudaEvent_t event);
void wait(cudaStream_t stream);

/// Bytes of the device's memory that are free, and all of its bytes.
struct DeviceRoom {
  Bytes free, total;
};
[[nodiscard]] DeviceRoom device_room();

}  // namespace sluice::profiler
