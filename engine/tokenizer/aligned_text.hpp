// Text that normalizers change, with the place in the original that each byte of it stands for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// Bytes [begin, end) of the original text that a byte of a changed text stands for; both ends lie
/// between characters.
struct Place {
  std::size_t begin = 0, end = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Whether an AlignedText keeps, for each of its bytes, the bytes of the original that it stands
/// for; without them changes are cheaper.
enum class Places { kept, dropped };

/// A part of the original text in its present, normalised form. Changes follow the rules by which
/// the tokenizers library aligns them (tokenizers, tokenizer/normalizer.rs), so that places are the
/// library's offsets.
class AlignedText {
 public:
  /// Begins as `part`, which is the part of the original text that starts at its byte `origin`.
  AlignedText(std::string_view part, std::size_t origin, Places places);

  [[nodiscard]] std::string_view text() const { return text_; }
  /// For each byte of text(), the bytes of the original that it stands for. Empty while text() is
  /// still the original's own, and always for an object made with Places::dropped.
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::size_t origin() const { return origin_; }

  /// A rewriting of the whole text from left to right.
  class Edit {
   public:
    /// Begins a rewriting of `text` that leaves out its first `skipped` characters.
    explicit Edit(AlignedText& text, std::size_t skipped = 0);
    /// Appends `value`. With change 0 it replaces the next character of the old text, with -N that
    /// one and the N behind it, and with 1 or more it is inserted and takes the place of the
    /// character before it.
    void put(char32_t value, std::ptrdiff_t change);
    /// Keeps the next `bytes` bytes of the old text, which are whole characters.
    void copy(std::size_t bytes);
    /// Ends the rewriting. What the old text has beyond the characters replaced is dropped.
    void finish();

   private:
    std::size_t take();  ///< Length of the next character of the old text, which is passed over.

    AlignedText& old_;
    std::string text_;
    std::vector<Place> places_;
    std::size_t at_ = 0;
  };

  /// Keeps the characters of the text for which `keep` holds, and leaves out the others.
  template <class Keep>
  void filter(const Keep& keep);
  /// Inserts `text` in front unless the present text is empty.
  void prepend(std::string_view text);
  /// A range of bytes of text() that replace() replaces.
  struct Match {
    std::size_t begin, end;
  };
  /// Replaces each of `matches`, which must be in order and must not overlap, by `content`.
  void replace(const std::vector<Match>& matches, std::string_view content);

  /// The code points of text().
  [[nodiscard]] std::u32string code_points() const;

 private:
  friend class Edit;
  void keep_places();  ///< Fills places(), if kept, while the text is the original's.

  std::string text_;
  std::vector<Place> places_;
  std::size_t origin_;
  bool kept_;
};

template <class Keep>
void AlignedText::filter(const Keep& keep) {
  const std::u32string points = code_points();
  std::size_t at = 0;
  while (at < points.size() && !keep(points[at])) ++at;
  Edit edit(*this, at);
  while (at < points.size()) {
    const char32_t value = points[at++];
    std::ptrdiff_t removed = 0;
    for (; at < points.size() && !keep(points[at]); ++at) ++removed;
    edit.put(value, -removed);
  }
  edit.finish();
}

/// For each byte of `text`, which is the original itself from byte `origin` on, the bytes in the
/// original of the character that it belongs to.
[[nodiscard]] std::vector<Place> places_of(std::string_view text, std::size_t origin);

}  // namespace sluice::engine
