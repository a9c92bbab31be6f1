#include "engine/tokenizer/pair_table.hpp"

#include <utility>

namespace sluice::engine {

void PairTable::set(std::uint32_t left, std::uint32_t right, std::int32_t rank,
                    std::int32_t merged) {
  if (2 * (size_ + 1) > entries_.size()) grow();
  const std::uint64_t key = key_of(left, right);
  std::size_t at = place(key);
  while (entries_[at].key != kFree && entries_[at].key != key) {
    at = (at + 1) & (entries_.size() - 1);
  }
  if (entries_[at].key == kFree) ++size_;
  entries_[at] = {key, rank, merged};
}

void PairTable::grow() {
  constexpr std::size_t kLeast = 1024;
  constexpr unsigned kLeastShift = 64 - 10;
  const std::vector<Entry> old = std::exchange(entries_, {});
  shift_ = old.empty() ? kLeastShift : shift_ - 1;
  entries_.assign(old.empty() ? kLeast : 2 * old.size(), {kFree, 0, 0});
  size_ = 0;
  for (const Entry& entry : old) {
    if (entry.key == kFree) continue;
    set(static_cast<std::uint32_t>(entry.key >> 32U), static_cast<std::uint32_t>(entry.key),
        entry.rank, entry.merged);
  }
}

}  // namespace sluice::engine
