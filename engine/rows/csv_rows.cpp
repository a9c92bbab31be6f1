#include "engine/rows/csv_rows.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// One record, and what is wrong with it.
struct CsvRecord {
  std::vector<std::string> fields;
  std::string fault;  ///< Empty for a good one.
  bool blank = false;
};

/// Cuts a text into records, letter by letter.
class CsvScan {
 public:
  CsvScan(TextWindow& text, char separator) : text_(text), separator_(separator) {}

  /// Takes the next record; none at the end of the text.
  std::optional<CsvRecord> next() {
    if (text_.rest().empty() && !text_.more()) return std::nullopt;
    CsvRecord record;
    record.fields.emplace_back();
    State state = State::begin;
    bool quoted_any = false;
    for (std::size_t at = 0;;) {
      if (at == text_.rest().size() && !text_.more()) {
        if (state == State::quoted) {
          throw BadRequest(text_.where() +
                           ": a quote is never closed: the rest of the file would be one field");
        }
        return ended(record, at, quoted_any);
      }
      const char letter = text_.rest()[at++];
      std::string& field = record.fields.back();
      if (state == State::quoted) {
        if (letter == '"') {
          state = State::behind_quote;
        } else {
          field += letter;
        }
        continue;
      }
      if (letter == '\n' || letter == '\r') {
        if (letter == '\r' && (at < text_.rest().size() || text_.more()) &&
            text_.rest()[at] == '\n') {
          ++at;
        }
        return ended(record, at, quoted_any);
      }
      if (letter == separator_) {
        record.fields.emplace_back();
        state = State::begin;
      } else if (letter == '"' && state == State::begin) {
        state = State::quoted;
        quoted_any = true;
      } else if (letter == '"' && state == State::behind_quote) {
        field += '"';
        state = State::quoted;
      } else {
        if (state == State::behind_quote) {
          record.fault = "letters follow a closing quote: a quote within a field is written twice";
        }
        field += letter;
        state = State::plain;
      }
    }
  }

 private:
  enum class State { begin, plain, quoted, behind_quote };

  std::optional<CsvRecord> ended(CsvRecord& record, std::size_t bytes, bool quoted_any) {
    text_.take(bytes);
    record.blank = !quoted_any && record.fields.size() == 1 &&
                   record.fields[0].find_first_not_of(" \t") == std::string::npos;
    for (const std::string& field : record.fields) {
      if (sim::first_not_utf8(field)) record.fault = "is not UTF-8";
    }
    return std::move(record);
  }

  TextWindow& text_;
  char separator_;
};

/// Takes the line "sep=;" with which Excel states the separator before the header; none without it.
std::optional<char> stated_separator(TextWindow& text) {
  constexpr std::string_view kStates = "sep=";
  while (text.rest().size() < kStates.size() + 2 && text.more()) {
  }
  const std::string_view rest = text.rest();
  if (!rest.starts_with(kStates) || rest.size() < kStates.size() + 2) return std::nullopt;
  const char separator = rest[kStates.size()], behind = rest[kStates.size() + 1];
  if (separator == '\r' || separator == '\n' || (behind != '\r' && behind != '\n')) {
    return std::nullopt;
  }
  text.take(kStates.size() + 1);
  text.skip_space();
  return separator;
}

/// Separator of the header: the comma, or what stands most often in its place.
char separator_of(TextWindow& text) {
  while (text.rest().find_first_of("\r\n") == std::string_view::npos && text.more()) {
  }
  const std::string_view rest = text.rest();
  const std::string_view header = rest.substr(0, rest.find_first_of("\r\n"));
  char found = ',';
  std::ptrdiff_t most = 0;
  bool quoted = false;
  for (const char each : std::string_view(",\t;|")) {
    std::ptrdiff_t count = 0;
    for (const char letter : header) {
      if (letter == '"') quoted = !quoted;
      if (!quoted && letter == each) ++count;
    }
    quoted = false;
    if (each == ',' && count > 0) return ',';
    if (count > most) {
      most = count;
      found = each;
    }
  }
  return found;
}

std::vector<std::string> read_header(CsvScan& scan, const TextWindow& text) {
  for (;;) {
    const std::string where = text.where();
    auto header = scan.next();
    if (!header) return {};
    if (header->blank) continue;
    if (!header->fault.empty()) throw BadRequest(where + ": the header: " + header->fault);
    std::set<std::string> seen;
    for (const std::string& name : header->fields) {
      if (seen.insert(name).second) continue;
      throw BadRequest(where + ": the header names the column \"" + name + "\" twice");
    }
    return header->fields;
  }
}

}  // namespace

void read_csv_rows(TextWindow& text, bool tabs, const RowVisitor& visitor) {
  const auto stated = stated_separator(text);
  CsvScan scan(text, stated ? *stated : tabs ? '\t' : separator_of(text));
  const std::vector<std::string> names = read_header(scan, text);
  if (names.empty()) return;
  for (;;) {
    const std::string where = text.where();
    auto record = scan.next();
    if (!record) return;
    if (record->blank) continue;
    if (visitor.progress) visitor.progress(text.bytes_done());
    if (record->fault.empty() && record->fields.size() != names.size()) {
      record->fault = "has " + std::to_string(record->fields.size()) + " fields, and the header " +
                      std::to_string(names.size());
    }
    if (!record->fault.empty()) {
      if (visitor.bad(where, record->fault) == Reading::stops) return;
      continue;
    }
    Row row{.object = std::make_unique<Json>(Json::object()), .where = where};
    auto& members = row.object->get_ref<Json::object_t&>();
    members.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      members.emplace_back(names[i], std::move(record->fields[i]));
    }
    if (visitor.row(row) == Reading::stops) return;
  }
}

}  // namespace sluice::engine
