#include "sim/json_reader.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

namespace sluice::sim {

/// Receives the events of nlohmann's SAX parser and appends each value to a document. (Its callback
/// parser would look at every item of a list again whenever one of them ends.)
class JsonBuilder {
 public:
  JsonBuilder(std::string_view text, const JsonRules& rules) : rules_(rules) {
    const auto begins_value = [](char c) { return c == ',' || c == '[' || c == '{'; };
    const auto most = 1 + std::count_if(text.begin(), text.end(), begins_value);
    document_.nodes_.reserve(static_cast<std::size_t>(most));
    document_.letters_.reserve(text.size());  // Never moves: names are views of it.
  }

  bool null() { return append(JsonKind::null, 0); }
  bool boolean(bool value) { return append(JsonKind::boolean, value ? 1 : 0); }
  bool number_integer(std::int64_t value) {
    return append(JsonKind::integer, static_cast<std::uint64_t>(value));
  }
  bool number_unsigned(std::uint64_t value) { return append(JsonKind::natural, value); }
  bool number_float(double value, const std::string&) {
    return append(JsonKind::real, std::bit_cast<std::uint64_t>(value));
  }
  bool string(const std::string& value) {
    const std::string_view kept = keep(value);
    return append(JsonKind::text, static_cast<std::uint64_t>(kept.data() - letters().data()),
                  kept.size());
  }
  bool binary(const nlohmann::ordered_json::binary_t&) { return false; }  // Not in texts.

  bool start_array(std::size_t) { return open(JsonKind::list); }
  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool end_array() { return close(); }
  bool end_object() { return close(); }

  /// Notes an object's next member name. Names are known by their owner, the open object that gave
  /// the name last; what an object took from one around it goes back at its end, so that a name
  /// costs two steps.
  bool key(const std::string& name) {
    if (too_deep()) return false;
    next_name_ = index_of(name);
    if (next_name_ == JsonDocument::kNoName) return fail({.kind = JsonFault::Kind::size});
    const std::size_t object = open_.back().node;
    if (owners_[next_name_] != object) {
      taken_.emplace_back(next_name_, std::exchange(owners_[next_name_], object));
      return true;
    }
    if (!repeated_) repeated_ = JsonFault{.kind = JsonFault::Kind::repeated_key, .detail = name};
    return rules_.repeated_key == RepeatedKey::at_the_end;
  }

  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& error) {
    if constexpr (std::is_same_v<Exception, nlohmann::ordered_json::parse_error>) {
      return fail({.kind = JsonFault::Kind::syntax, .byte = error.byte, .detail = error.what()});
    } else {
      return fail({.kind = JsonFault::Kind::number_beyond_double, .detail = error.what()});
    }
  }

  std::variant<JsonDocument, JsonFault> result() && {
    if (fault_) return *std::move(fault_);
    if (repeated_) return *std::move(repeated_);
    return std::move(document_);
  }

 private:
  static constexpr std::size_t kNobody = SIZE_MAX;
  struct Open {
    std::size_t node;
    std::size_t taken;  ///< Number of entries in taken_ before this list or object began.
  };

  [[nodiscard]] std::vector<char>& letters() { return document_.letters_; }

  bool fail(JsonFault fault) {
    fault_ = std::move(fault);
    return false;
  }

  bool too_deep() {
    if (!rules_.most_levels || open_.size() <= *rules_.most_levels) return false;
    return !fail({.kind = JsonFault::Kind::depth});
  }

  std::string_view keep(const std::string& text) {
    const std::size_t begin = letters().size();
    letters().insert(letters().end(), text.begin(), text.end());
    return {letters().data() + begin, text.size()};
  }

  std::uint32_t index_of(const std::string& name) {
    if (const auto known = indices_.find(name); known != indices_.end()) return known->second;
    const auto index = static_cast<std::uint32_t>(document_.names_.size());
    if (index == JsonDocument::kNoName) return index;
    document_.names_.push_back(keep(name));
    indices_.emplace(document_.names_.back(), index);
    owners_.push_back(kNobody);
    return index;
  }

  bool append(JsonKind kind, std::uint64_t bits, std::size_t size = 0) {
    if (too_deep()) return false;
    if (!open_.empty()) ++document_.nodes_[open_.back().node].size;
    document_.nodes_.push_back({.name = std::exchange(next_name_, JsonDocument::kNoName),
                                .kind = static_cast<std::uint32_t>(kind),
                                .size = static_cast<std::uint32_t>(size),
                                .bits = bits});
    ++document_.reading_steps_;
    return true;
  }

  bool open(JsonKind kind) {
    if (!append(kind, 0)) return false;
    open_.push_back({.node = document_.nodes_.size() - 1, .taken = taken_.size()});
    return true;
  }

  bool close() {
    const Open closed = open_.back();
    open_.pop_back();
    document_.nodes_[closed.node].bits = document_.nodes_.size();
    for (; taken_.size() > closed.taken; taken_.pop_back()) {
      owners_[taken_.back().first] = taken_.back().second;
      ++document_.reading_steps_;
    }
    return true;
  }

  JsonRules rules_;
  JsonDocument document_;
  std::unordered_map<std::string_view, std::uint32_t> indices_;
  std::vector<std::size_t> owners_;  ///< Open object that gave each name last.
  std::vector<std::pair<std::uint32_t, std::size_t>>
      taken_;  ///< Names that changed their owner, each with the owner before.
  std::vector<Open> open_;
  std::uint32_t next_name_ = JsonDocument::kNoName;
  std::optional<JsonFault> repeated_;
  std::optional<JsonFault> fault_;
};

std::variant<JsonDocument, JsonFault> read_json(std::string_view text, const JsonRules& rules) {
  if (text.size() > UINT32_MAX) return JsonFault{.kind = JsonFault::Kind::size};
  JsonBuilder builder(text, rules);
  nlohmann::ordered_json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return std::move(builder).result();
}

}  // namespace sluice::sim
