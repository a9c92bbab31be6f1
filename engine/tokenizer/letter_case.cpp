#include "engine/tokenizer/letter_case.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace sluice::engine {
namespace {

/// Letters first .. last, of which each second or each one has its lower case at a distance.
struct LowerCases {
  char32_t first, last;
  std::int32_t distance;
  char32_t step = 1;
};

/// Lower cases that Unicode gained after utf8proc 2.8.
constexpr LowerCases kNewer[] = {{0x1c89, 0x1c89, 1},        {0xa7cb, 0xa7cb, 0x264 - 0xa7cb},
                                 {0xa7cc, 0xa7cc, 1},        {0xa7ce, 0xa7ce, 1},
                                 {0xa7d2, 0xa7d4, 1, 2},     {0xa7da, 0xa7da, 1},
                                 {0xa7dc, 0xa7dc, 0x19b - 0xa7dc}, {0x10d50, 0x10d65, 0x20},
                                 {0x16ea0, 0x16eb8, 0x1b}};

char32_t lower_of(char32_t value) {
  if (value < 0x80) return value >= 'A' && value <= 'Z' ? value + 0x20 : value;
  for (const LowerCases& range : kNewer) {
    if (value < range.first || value > range.last) continue;
    if ((value - range.first) % range.step != 0) break;
    return static_cast<char32_t>(static_cast<std::int32_t>(value) + range.distance);
  }
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value)));
}

}  // namespace

void lower(AlignedText& text) {
  const std::u32string points = text.code_points();
  AlignedText::Edit edit(text);
  for (const char32_t value : points) {
    if (value == 0x130) {  // The only one whose lower case is two characters: an i and a dot.
      edit.put(U'i', 0);
      edit.put(0x307, 1);
    } else {
      edit.put(lower_of(value), 0);
    }
  }
  edit.finish();
}

}  // namespace sluice::engine
