#include "planner/costs/cost_kind.hpp"

#include <algorithm>
#include <array>

namespace sluice::planner {
namespace {

struct KindWords {
  CostKind kind;
  std::string_view words;
};
/// No words begin with those of another kind.
constexpr std::array kKindWords{
    KindWords{CostKind::block_update, "update/muon"},
    KindWords{CostKind::cpu_update, "update/cpu"},
    KindWords{CostKind::device_update, "update/device"},
    KindWords{CostKind::copy_h2d, "copy/h2d"},
    KindWords{CostKind::copy_d2h, "copy/d2h"},
    KindWords{CostKind::copy_disk_read, "copy/disk_read"},
    KindWords{CostKind::copy_disk_write, "copy/disk_write"},
    KindWords{CostKind::collective, "fabric/"},
    KindWords{CostKind::host_pass, "host_pass/"},
    KindWords{CostKind::launch, "launch/"},
    KindWords{CostKind::data, "data/"},
    KindWords{CostKind::interference, "interference/"},
    KindWords{CostKind::launch_delay, "launch_delay/"},
    KindWords{CostKind::hand_off, "hand_off/"},
    KindWords{CostKind::boost, "boost/"},
};

}  // namespace

std::string_view first_words(CostKind kind) {
  const auto* found = std::ranges::find(kKindWords, kind, &KindWords::kind);
  return found == kKindWords.end() ? std::string_view() : found->words;
}

CostKind kind_named(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kKindWords, [&](const KindWords& each) { return name.starts_with(each.words); });
  return found == kKindWords.end() ? CostKind::pass : found->kind;
}

bool is_copy(CostKind kind) {
  return kind == CostKind::copy_h2d || kind == CostKind::copy_d2h ||
         kind == CostKind::copy_disk_read || kind == CostKind::copy_disk_write;
}

}  // namespace sluice::planner
