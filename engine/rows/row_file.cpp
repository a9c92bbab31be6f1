#include "engine/rows/row_file.hpp"

#include <nlohmann/json.hpp>

#include "engine/rows/csv_rows.hpp"
#include "engine/rows/json_rows.hpp"
#include "engine/rows/table_rows.hpp"
#include "engine/rows/text_window.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// Visits the lines of a text as rows.
void read_line_rows(TextWindow& text, const RowVisitor& visitor) {
  for (;;) {
    std::size_t end = text.rest().find('\n');
    while (end == std::string_view::npos) {
      const std::size_t searched = text.rest().size();
      if (!text.more()) break;
      end = text.rest().find('\n', searched);
    }
    const bool last = end == std::string_view::npos;
    std::string_view line = text.rest().substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) {
      if (visitor.progress) visitor.progress(text.bytes_done());
      Reading reading = Reading::goes_on;
      if (sim::first_not_utf8(line)) {
        reading = visitor.bad(text.where(), "is not UTF-8");
      } else {
        Row row{.object = std::make_unique<Json>(Json{{"text", std::string(line)}}),
                .where = text.where()};
        reading = visitor.row(row);
      }
      if (reading == Reading::stops) return;
    }
    if (last) return;
    text.take(end + 1);
  }
}

}  // namespace

void read_rows(const std::filesystem::path& file, FileForm form, const RowVisitor& visitor) {
  if (form == FileForm::parquet || form == FileForm::arrow) {
    return read_table_rows(file, form, visitor);
  }
  const auto stream = open_byte_stream(file);
  TextWindow text(*stream, file.string());
  switch (form) {
    case FileForm::json:
      return read_json_rows(text, visitor);
    case FileForm::csv:
      return read_csv_rows(text, data_extension(file) == ".tsv", visitor);
    case FileForm::text:
      return read_line_rows(text, visitor);
    case FileForm::parquet:
    case FileForm::arrow:
      break;
  }
}

}  // namespace sluice::engine
