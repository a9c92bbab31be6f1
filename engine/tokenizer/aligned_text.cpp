#include "engine/tokenizer/aligned_text.hpp"

#include <algorithm>

#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

std::size_t length_at(std::string_view text, std::size_t at) {
  const auto point = sim::code_point_at(text, at);
  return point ? point->bytes : 1;
}

}  // namespace

AlignedText::AlignedText(std::string_view part, std::size_t origin, Places places)
    : text_(part), origin_(origin), kept_(places == Places::kept) {}

std::vector<Place> places_of(std::string_view text, std::size_t origin) {
  std::vector<Place> places;
  places.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = length_at(text, at);
    places.insert(places.end(), bytes, Place{origin + at, origin + at + bytes});
    at += bytes;
  }
  return places;
}

void AlignedText::keep_places() {
  if (kept_ && places_.size() != text_.size()) places_ = places_of(text_, origin_);
}

std::u32string AlignedText::code_points() const {
  std::u32string points;
  points.reserve(text_.size());
  for (std::size_t at = 0; at < text_.size();) {
    const auto point = sim::code_point_at(text_, at);
    points += point ? point->value : U'\uFFFD';
    at += point ? point->bytes : 1;
  }
  return points;
}

AlignedText::Edit::Edit(AlignedText& text, std::size_t skipped) : old_(text) {
  old_.keep_places();
  if (old_.kept_) places_.reserve(old_.places_.size());
  text_.reserve(old_.text_.size());
  for (; skipped > 0; --skipped) take();
}

std::size_t AlignedText::Edit::take() {
  if (at_ >= old_.text_.size()) return 0;
  const std::size_t bytes = length_at(old_.text_, at_);
  at_ += bytes;
  return bytes;
}

void AlignedText::Edit::put(char32_t value, std::ptrdiff_t change) {
  const std::size_t before = text_.size();
  sim::append_utf8(text_, value);
  if (old_.kept_) {
    Place place{old_.origin_, old_.origin_};
    if (!old_.places_.empty() && (change <= 0 || at_ > 0)) {
      place = old_.places_[std::min(change > 0 ? at_ - 1 : at_, old_.places_.size() - 1)];
    }
    places_.insert(places_.end(), text_.size() - before, place);
  }
  for (std::ptrdiff_t taken = change; taken <= 0; ++taken) take();
}

void AlignedText::Edit::copy(std::size_t bytes) {
  bytes = std::min(bytes, old_.text_.size() - at_);
  text_.append(old_.text_, at_, bytes);
  if (old_.kept_) {
    const auto first = old_.places_.begin() + static_cast<std::ptrdiff_t>(at_);
    places_.insert(places_.end(), first, first + static_cast<std::ptrdiff_t>(bytes));
  }
  at_ += bytes;
}

void AlignedText::Edit::finish() {
  old_.text_ = std::move(text_);
  old_.places_ = std::move(places_);
}

void AlignedText::prepend(std::string_view text) {
  if (text_.empty()) return;
  keep_places();
  text_.insert(0, text);
  if (kept_) places_.insert(places_.begin(), text.size(), Place(places_.front()));
}

void AlignedText::replace(const std::vector<Match>& matches, std::string_view content) {
  if (matches.empty()) return;
  keep_places();
  std::string out;
  std::vector<Place> places;
  std::size_t done = 0;
  const auto copy_to = [&](std::size_t end) {
    out.append(text_, done, end - done);
    if (kept_) {
      places.insert(places.end(), places_.begin() + static_cast<std::ptrdiff_t>(done),
                    places_.begin() + static_cast<std::ptrdiff_t>(end));
    }
  };
  out.reserve(text_.size());
  places.reserve(places_.size());
  for (const Match& match : matches) {
    copy_to(match.begin);
    out += content;
    // All of it takes the place of the last character replaced.
    const Place place = !kept_ || match.end == 0 ? Place{origin_, origin_} : places_[match.end - 1];
    if (kept_) places.insert(places.end(), content.size(), place);
    done = match.end;
  }
  copy_to(text_.size());
  text_ = std::move(out);
  places_ = std::move(places);
}

}  // namespace sluice::engine
