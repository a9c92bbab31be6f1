// Host memory that the ranks of one host read and write together.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/ranks/control.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// A range of host memory that several threads or processes map. It begins at a page, all of it is
/// resident, and it goes back to the system with the last that maps it.
class SharedArena {
 public:
  /// Memory that other processes can open. Its bytes are 0xFF, NaN in every type. Throws
  /// EnvironmentError naming the size if the system refuses.
  explicit SharedArena(Bytes bytes);
  /// The memory that another process of this host made, whose address() is `address`. Throws
  /// EnvironmentError if it cannot be opened or is not that memory.
  SharedArena(Bytes bytes, const std::string& address);
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;  // Addresses inside are held by bound tasks.
  SharedArena& operator=(const SharedArena&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  /// All pages of the memory.
  [[nodiscard]] std::span<std::byte> mapping() const { return {data_, mapped_}; }
  /// Text by which another process of this host opens the memory while this one maps it.
  [[nodiscard]] std::string address() const;

  /// Keeps what `make` returns as long as the memory; only the first call makes it. May be called
  /// by several threads.
  std::shared_ptr<void> keep(const std::function<std::shared_ptr<void>()>& make);

 private:
  void map(Bytes bytes);

  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0, mapped_ = 0;
  std::mutex mutex_;            ///< Guards kept_.
  std::shared_ptr<void> kept_;  ///< Goes before the memory is unmapped.
};

/// The arenas of `ranks` ranks that are threads of this process, `local` of them to each.
[[nodiscard]] std::vector<std::shared_ptr<SharedArena>> share_among_threads(Bytes bytes,
                                                                            std::size_t ranks,
                                                                            int local);
/// The arena of this rank, which is a process: the first of each `local` consecutive ranks makes
/// it, and the others open it. All ranks call it. Throws EnvironmentError if the ranks of a host
/// cannot open it, and RankFailure if another rank throws.
[[nodiscard]] std::shared_ptr<SharedArena> share_among_processes(Bytes bytes, Control& control,
                                                                 int local);

}  // namespace sluice::engine
