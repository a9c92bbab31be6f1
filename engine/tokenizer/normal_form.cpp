#include "engine/tokenizer/normal_form.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <optional>
#include <span>

#include "engine/tokenizer/unicode_properties.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// A character of the new text and what it changes in the old one (AlignedText::Edit::put).
struct Change {
  char32_t value;
  std::ptrdiff_t change;
};

int combining_class(char32_t value) {
  if (value < 0x300 || is_newer_mark(value)) return 0;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(value))->combining_class;
}

/// The character that `first` and `second` compose to, if there is one.
std::optional<char32_t> composed(char32_t first, char32_t second) {
  if (is_newer_mark(first) || is_newer_mark(second)) return std::nullopt;
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(first),
                              static_cast<utf8proc_int32_t>(second)};
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  if (utf8proc_normalize_utf32(pair, 2, kOptions) != 1) return std::nullopt;
  const auto made = static_cast<char32_t>(pair[0]);
  if (is_newer_composite(made)) return std::nullopt;
  return made;
}

/// One run of characters that depend on each other, on its way into a normal form.
class Run {
 public:
  explicit Run(NormalForm form) : form_(form) {}

  /// Decomposes the characters and appends their normal form to `edit`.
  void write(std::u32string_view points, AlignedText::Edit& edit) {
    changes_.clear();
    for (const char32_t value : points) decompose(value);
    reorder();
    if (form_ == NormalForm::nfc || form_ == NormalForm::nfkc) compose();
    for (const Change& each : changes_) edit.put(each.value, each.change);
  }

 private:
  void decompose(char32_t value) {
    if (is_newer_composite(value)) return changes_.push_back({value, 0});
    constexpr std::size_t kMost = 32;  // The longest decomposition has 18 characters.
    utf8proc_int32_t parts[kMost];
    const bool compatible = form_ == NormalForm::nfkc || form_ == NormalForm::nfkd;
    const auto options =
        static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
    int boundary = UTF8PROC_BOUNDCLASS_START;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(value), parts, kMost,
                                               options, &boundary);
    check(count >= 0 && static_cast<std::size_t>(count) <= kMost, "a character decomposes");
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      changes_.push_back({static_cast<char32_t>(parts[i]), i > 0 ? 1 : 0});
    }
  }

  /// Puts marks that follow each other in the order of their classes.
  void reorder() {
    for (auto begin = changes_.begin(); begin != changes_.end();) {
      if (combining_class(begin->value) == 0) {
        ++begin;
        continue;
      }
      auto end = begin;
      while (end != changes_.end() && combining_class(end->value) != 0) ++end;
      std::stable_sort(begin, end, [](const Change& left, const Change& right) {
        return combining_class(left.value) < combining_class(right.value);
      });
      begin = end;
    }
  }

  /// Composes each character with the starter before it unless another one stands between that
  /// blocks it. What two changes do together, one does: the second took one character.
  void compose() {
    std::size_t starter = 0, size = 0;
    bool has_starter = false;
    int last_class = -1;  // Class of the character kept last behind the starter; -1: none is.
    for (const Change each : changes_) {
      const int its_class = combining_class(each.value);
      if (has_starter && (last_class < 0 || last_class < its_class)) {
        if (const auto made = composed(changes_[starter].value, each.value)) {
          changes_[starter] = {*made, changes_[starter].change + each.change - 1};
          continue;
        }
      }
      changes_[size] = each;
      if (its_class == 0) {
        starter = size;
        has_starter = true;
        last_class = -1;
      } else {
        last_class = its_class;
      }
      ++size;
    }
    changes_.resize(size);
  }

  NormalForm form_;
  std::vector<Change> changes_;
};

/// Characters that may change, or change others beside them.
CodePointTable changeable(NormalForm form) {
  const bool composes = form == NormalForm::nfc || form == NormalForm::nfkc;
  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  CodePointSet set;
  std::vector<CodePointRange> found;
  for (char32_t value = compatible || !composes ? 0x80 : 0x300; value <= kLastCodePoint; ++value) {
    const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(value));
    const bool decomposes =
        property->decomp_seqindex != UINT16_MAX && (compatible || property->decomp_type == 0);
    const bool combines = composes && property->comb_index != UINT16_MAX;
    if (decomposes || combines || property->combining_class != 0) found.push_back({value, value});
  }
  set.unite(found);
  // Hangul: jamo compose; syllables decompose, and compose again where nothing follows.
  if (composes) set.add({0x1100, 0x11ff});
  if (!composes) set.add({0xac00, 0xd7a3});
  return CodePointTable(set);
}

template <NormalForm form>
const CodePointTable& made_once() {
  static const CodePointTable table = changeable(form);
  return table;
}

const CodePointTable& changeable_of(NormalForm form) {
  switch (form) {
    case NormalForm::nfc:
      return made_once<NormalForm::nfc>();
    case NormalForm::nfd:
      return made_once<NormalForm::nfd>();
    case NormalForm::nfkc:
      return made_once<NormalForm::nfkc>();
    case NormalForm::nfkd:
      break;
  }
  return made_once<NormalForm::nfkd>();
}

}  // namespace

void normalize(AlignedText& text, NormalForm form) {
  // Bytes below 0xCC begin no character from U+0300 on, and below 0x80 is ASCII.
  const unsigned char least = form == NormalForm::nfc ? 0xcc : 0x80;
  const std::string old(text.text());
  const CodePointTable& table = changeable_of(form);
  std::optional<AlignedText::Edit> edit;  // Begun where the first run is found.
  Run run(form);
  std::u32string points;
  std::size_t done = 0, last = 0;  // Bytes written, and where the character before `at` begins.
  for (std::size_t at = 0; at < old.size();) {
    if (static_cast<unsigned char>(old[at]) < least) {
      // Where a character begins matters only for the one before a run.
      if ((static_cast<unsigned char>(old[at]) & 0xc0U) != 0x80) last = at;
      ++at;
      continue;
    }
    auto point = sim::code_point_at(old, at);
    if (!point || !table.contains(point->value)) {
      last = at;
      at += point ? point->bytes : 1;
      continue;
    }
    // The run, and the character before it, which may compose with its first one.
    const std::size_t begin = at > done ? last : at;
    points.clear();
    if (begin < at) points += sim::code_point_at(old, begin).value().value;
    for (; point && table.contains(point->value); point = sim::code_point_at(old, at)) {
      points += point->value;
      at += point->bytes;
    }
    if (!edit) edit.emplace(text);
    edit->copy(begin - done);
    run.write(points, *edit);
    done = last = at;
  }
  if (!edit) return;
  edit->copy(old.size() - done);
  edit->finish();
}

}  // namespace sluice::engine
