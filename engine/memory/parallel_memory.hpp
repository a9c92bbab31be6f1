// Zeroing and copying much memory on all cores.
#pragma once

#include <cstddef>
#include <memory>

namespace sluice::engine {

/// `bytes` zero bytes at `data`; memory that was mapped and not yet touched becomes present. One
/// thread for every 16 MiB, at most one a core.
void zero_in_parallel(std::byte* data, std::size_t bytes);

/// `bytes` bytes from `source` to `destination`, which do not overlap, on as many threads.
void copy_in_parallel(const std::byte* source, std::byte* destination, std::size_t bytes);

/// Zeroed memory of the process, every page of it present. Throws EnvironmentError where the system
/// refuses it.
[[nodiscard]] std::shared_ptr<std::byte> map_present(std::size_t bytes);

}  // namespace sluice::engine
