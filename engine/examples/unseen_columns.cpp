#include "engine/examples/unseen_columns.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/examples/message_reader.hpp"

namespace sluice::engine {

UnseenColumns::UnseenColumns(const ExampleFormat& format)
    : lists_{format.messages, format.prompt, format.completion} {
  for (const char* held : {"query", "system", "history", "tools", "learnt"}) {
    const auto stated = format.stated.find(held);
    if (stated != format.stated.end()) unseen_.insert(*stated);
  }
}

void UnseenColumns::look(const Json& row) {
  std::erase_if(unseen_, [&](const auto& each) {
    const auto& [held, field] = each;
    return row.contains(field) || (held == "learnt" && turns_have(row, field));
  });
}

bool UnseenColumns::turns_have(const Json& row, const std::string& field) const {
  return std::ranges::any_of(lists_, [&](const std::string& list) {
    const auto found = row.find(list);
    if (found == row.end()) return false;
    const Json turns = list_in(*found);
    return turns.is_array() && std::ranges::any_of(turns, [&field](const Json& turn) {
             return turn.is_object() && turn.contains(field);
           });
  });
}

std::vector<std::string> UnseenColumns::held() const {
  std::vector<std::string> names;
  for (const auto& [held, field] : unseen_) names.push_back(held);
  return names;
}

}  // namespace sluice::engine
