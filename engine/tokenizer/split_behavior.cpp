#include "engine/tokenizer/split_behavior.hpp"

namespace sluice::engine {

std::optional<SplitBehavior> split_behavior(std::string_view name) {
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  return std::nullopt;
}

void Splitting::match(std::size_t begin, std::size_t end) {
  if (begin > done_) segment(done_, begin, inverted_);
  segment(begin, end, !inverted_);
  done_ = end;
}

void Splitting::finish() {
  if (done_ < piece_.text.size()) segment(done_, piece_.text.size(), inverted_);
  if (held_) emit(held_->begin, held_->end);
  held_.reset();
}

void Splitting::emit(std::size_t begin, std::size_t end) const {
  if (begin < end) sink_(piece_.part(begin, end));
}

void Splitting::segment(std::size_t begin, std::size_t end, bool matched) {
  bool joins = false;
  switch (behavior_) {
    case SplitBehavior::removed:
      if (!matched) emit(begin, end);
      return;
    case SplitBehavior::isolated:
      return emit(begin, end);
    case SplitBehavior::contiguous:
      joins = matched == last_matched_;
      break;
    case SplitBehavior::merged_with_previous:
      joins = matched && !last_matched_;
      break;
    case SplitBehavior::merged_with_next:
      joins = !matched && last_matched_;
      break;
  }
  last_matched_ = matched;
  if (held_ && joins) {
    held_->end = end;
    return;
  }
  if (held_) emit(held_->begin, held_->end);
  held_ = Segment{begin, end};
}

}  // namespace sluice::engine
