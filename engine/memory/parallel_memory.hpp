// Zeroing and copying of large memory on all cores.
#pragma once

#include <cstddef>
#include <memory>

namespace sluice::engine {

/// Zeroes `bytes` bytes at `data`, which also makes untouched mapped memory resident. Uses one
/// thread for every 16 MiB, at most one per core.
void zero_in_parallel(std::byte* data, std::size_t bytes);

/// Copies `bytes` bytes from `source` to `destination`, which must not overlap. Uses one thread for
/// every 16 MiB, at most one per core.
void copy_in_parallel(const std::byte* source, std::byte* destination, std::size_t bytes);

/// Maps `bytes` bytes of zeroed private memory, fully resident; the last owner unmaps them. Throws
/// EnvironmentError if the system refuses them.
[[nodiscard]] std::shared_ptr<std::byte> map_present(std::size_t bytes);

}  // namespace sluice::engine
