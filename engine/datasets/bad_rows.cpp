#include "engine/datasets/bad_rows.hpp"

#include <algorithm>
#include <array>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kPlacesShown = 3;
constexpr std::size_t kMostListed = 1000;

std::string rows_text(std::int64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

}  // namespace

std::string kind_of_reason(const std::string& reason) {
  std::string kind;
  for (std::size_t i = 0; i < reason.size(); ++i) {
    const bool counted = !kind.empty() && (kind.back() == '[' || kind.ends_with("at byte "));
    if (counted) i = std::min(reason.find_first_not_of("0123456789", i), reason.size());
    if (i < reason.size()) kind += reason[i];
  }
  if (const auto byte = kind.find(" (at byte )"); byte != std::string::npos) kind.erase(byte, 11);
  // "field: must be text" reads as a sentence; any other colon stays.
  constexpr std::array kVerbs = {"is ", "must ", "has ", "holds ", "asks "};
  const auto colon = kind.find(": ");
  if (colon == std::string::npos || colon > kind.find(' ')) return kind;
  const std::string_view after = std::string_view(kind).substr(colon + 2);
  const auto follows = [&](const char* verb) { return after.starts_with(verb); };
  if (std::ranges::any_of(kVerbs, follows)) kind.erase(colon, 1);
  return kind;
}

void BadRows::count(const std::string& where, const std::string& kind, bool of_file) {
  auto found = std::ranges::find(of_this_file_, kind, &Kind::reason);
  if (found == of_this_file_.end()) {
    found = of_this_file_.insert(of_this_file_.end(),
                                 {.reason = kind, .of_file = of_file, .first_places = {}});
  }
  ++found->rows;
  if (found->first_places.size() < kPlacesShown) found->first_places.push_back(where);
}

void BadRows::add(const std::string& where, const std::string& reason) {
  const std::string kind = kind_of_reason(reason);
  count(where, kind, false);
  leave_out(where, reason, kind);
}

void BadRows::add_marked(const std::string& where, const std::string& reason) {
  leave_out(where, reason, kind_of_reason(reason));
}

void BadRows::leave_out(const std::string& where, const std::string& reason,
                        const std::string& kind) {
  if (strict_ && listed_.size() <= kMostListed) listed_.push_back(where + ": " + reason);
  auto found = std::ranges::find(left_out_, kind, &LeftOutRows::reason);
  if (found == left_out_.end()) {
    found = left_out_.insert(left_out_.end(), {.reason = kind, .first = where});
  }
  ++found->rows;
}

void BadRows::add_of_file(const std::string& where, const std::string& reason) {
  ++of_file_;
  count(where, kind_of_reason(reason), true);
}

void BadRows::end_file(const std::string& file, std::int64_t rows) {
  const bool refused = std::ranges::any_of(
      of_this_file_, [rows](const Kind& kind) { return kind.of_file || kind.rows * 2 > rows; });
  if (!refused) {
    of_this_file_.clear();
    return;
  }
  std::string message = "data: " + file + ": ";
  bool first = true;
  for (const Kind& kind : of_this_file_) {
    std::string places;
    for (const std::string& place : kind.first_places) {
      places.append(places.empty() ? "" : ", ").append(place);
    }
    message += (first ? "" : "; ") + kind.reason + " (" + std::to_string(kind.rows) + " of " +
               rows_text(rows) + ", first at " + places + ")";
    first = false;
  }
  throw BadRequest(message);
}

void BadRows::end() const {
  if (!strict_ || listed_.empty()) return;
  std::int64_t rows = 0;
  for (const LeftOutRows& each : left_out_) rows += each.rows;
  std::string message = "data: strict: " + rows_text(rows) + " would be left out: ";
  const std::size_t shown = std::min(listed_.size(), kMostListed);
  for (std::size_t i = 0; i < shown; ++i) message += (i > 0 ? "; " : "") + listed_[i];
  const auto more = rows - static_cast<std::int64_t>(shown);
  if (more > 0) message += "; and " + std::to_string(more) + " more";
  throw BadRequest(message);
}

std::string left_out_line(const std::vector<LeftOutRows>& left_out) {
  std::string line;
  for (const LeftOutRows& each : left_out) {
    line.append(line.empty() ? "left out " : "; ")
        .append(rows_text(each.rows) + " (" + each.reason + "), first at " + each.first);
  }
  return line;
}

}  // namespace sluice::engine
