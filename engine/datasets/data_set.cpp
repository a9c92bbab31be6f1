#include "engine/datasets/data_set.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/examples/column_table.hpp"
#include "engine/examples/dataset_info.hpp"
#include "engine/examples/example.hpp"
#include "engine/examples/row_marks.hpp"
#include "engine/rows/row_file.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

using planner::DataEntry;
using planner::DataFormat;

/// The first row of a data set, and where it stands.
struct FirstRow {
  std::unique_ptr<Json> row;
  std::string where;
  std::string fault;  ///< Fault of the first bad row, where there is no good one.
};

FirstRow first_row(const DataFiles& files) {
  FirstRow first;
  const RowVisitor visitor{.row =
                               [&first](Row& row) {
                                 first.row = std::move(row.object);
                                 first.where = row.where;
                                 return Reading::stops;
                               },
                           .bad =
                               [&first](const std::string& where, const std::string& reason) {
                                 if (first.fault.empty()) first.fault = where + ": " + reason;
                                 return Reading::goes_on;
                               }};
  for (const auto& file : files.files) {
    if (!first.row) read_rows(file, files.form, visitor);
  }
  return first;
}

const Json& require_row(const FirstRow& first, const DocumentRows& rows) {
  if (first.row) return *first.row;
  throw BadRequest("data: " + rows.name +
                   (first.fault.empty() ? " holds no rows" : " holds no row: " + first.fault));
}

/// Format that the first row suggests.
ExampleFormat suggested_format(const Json& row, const std::string& where) {
  if (const auto table = column_table(row)) {
    throw BadRequest("data: " + where + ": " + table->reason);
  }
  const auto guessed = guessed_format(row);
  if (!guessed || guessed->kind != DataFormat::jsonl) {
    if (const auto other = other_kind_of_data(row)) {
      throw BadRequest("data: " + where + ": " + other->reason);
    }
  }
  if (guessed) return *guessed;
  throw BadRequest("data: " + where + ": " + advice_on_fields(row));
}

/// Format that the entry, its columns or the registry decide; none if they decide nothing.
std::optional<ExampleFormat> stated_format(const DataEntry& entry, const Dataset& dataset) {
  DataFormat given = entry.format.value_or(DataFormat::automatic);
  if (given == DataFormat::bytes) given = DataFormat::text;
  if (dataset.format && (given == DataFormat::automatic || given == dataset.format->kind)) {
    return dataset.format;
  }
  if (given != DataFormat::automatic) return example_format(given);
  if (const auto kind = kind_of_columns(entry.columns)) return example_format(*kind);
  return std::nullopt;
}

/// Whether the owner names a prompt, and nothing that would say what follows it.
bool names_prompt_alone(const DataEntry& entry) {
  const auto has = [&entry](const char* held) { return entry.columns.contains(held); };
  return has("prompt") && !has("text") && !has("response") && !has("completion") &&
         !has("messages");
}

/// Format of rows whose prompt alone is named: with the answer that the row has under a usual name,
/// else a text to continue.
ExampleFormat format_of_prompt(const Json& row, const DataEntry& entry) {
  if (row.contains("completion")) return example_format(DataFormat::prompt_completion);
  if (row.contains("output")) return example_format(DataFormat::alpaca);
  ExampleFormat texts = example_format(DataFormat::jsonl);
  texts.text = entry.columns.at("prompt");
  return texts;
}

/// Warns of columns that other programs give to a template, and no format reads unless they are
/// named.
void warn_of_unread(const Json& row, const DocumentRows& rows) {
  const ExampleFormat& format = rows.format;
  if (!format.conversations()) return;
  const auto unread = [&](const char* column, const std::string& read) {
    const auto found = row.find(column);
    const auto other = row.find(read);
    return found != row.end() && is_filled(*found) && read != column &&
           (other == row.end() || !is_filled(*other));
  };
  const std::string begin = "data: " + rows.name + ": the column ";
  for (const char* column : {"system_prompt", "system_message"}) {
    if (!unread(column, format.system)) continue;
    sim::warn(begin + column + " is not read: say columns: {system: " + column +
              "} to begin each conversation with it");
  }
  if (unread("functions", format.tools)) {
    sim::warn(begin + "functions is not read: give the template tools instead");
  }
}

void settle_format(const DataEntry& entry, const Dataset& dataset, DocumentRows& rows) {
  auto format = stated_format(entry, dataset);
  FileForm& form = rows.files.form;
  if (!format && form == FileForm::text) format = example_format(DataFormat::text);
  if (format && format->kind == DataFormat::text) {
    if (form == FileForm::parquet || form == FileForm::arrow) {
      throw BadRequest("data: " + rows.name + " is " + to_string(form) +
                       ", no text: name its column, such as columns: {text: NAME}");
    }
    rows.format = *format;
    return;
  }
  // A text whose rows are said to have fields is read as what can have them.
  if (form == FileForm::text && format->kind != DataFormat::jsonl) form = FileForm::json;
  const FirstRow first = first_row(rows.files);
  const bool open = !dataset.format && !entry.columns.contains("role");
  if (!format) format = suggested_format(require_row(first, rows), first.where);
  const bool continued = format->kind == DataFormat::jsonl && !dataset.format;
  if (continued && names_prompt_alone(entry) && first.row) {
    format = format_of_prompt(*first.row, entry);
  }
  rows.format = with_names(*format, entry.columns, entry.roles);
  if (first.row) rows.format = settled_format(rows.format, *first.row, open);
  // The owner's words for roles hold in ShareGPT's form, too.
  if (rows.format.kind != format->kind) rows.format = with_names(rows.format, {}, entry.roles);
  if (entry.only_marked && rows.format.learnt.empty()) {
    throw BadRequest("data: " + rows.name +
                     ": only_marked: name the field that marks turns as learnt: columns: {learnt: "
                     "FIELD}");
  }
  rows.format.only_marked = entry.only_marked;
  if (first.row) warn_of_unread(*first.row, rows);
}

/// Number of rows that `percent` of a data set's are, rounded as Hugging Face's datasets round it.
std::int64_t part_of_rows(const DocumentRows& rows, double percent) {
  std::int64_t count = 0;
  const auto one_more = [&count] {
    ++count;
    return Reading::goes_on;
  };
  const RowVisitor visitor{
      .row = [&](Row&) { return one_more(); },
      .bad = [&](const std::string&, const std::string&) { return one_more(); }};
  if (rows.format.kind != DataFormat::text) {
    for (const auto& file : rows.files.files) read_rows(file, rows.files.form, visitor);
  }
  const auto part =
      static_cast<std::int64_t>(std::nearbyint(percent * static_cast<double>(count) / 100.0));
  return std::max<std::int64_t>(1, part);
}

}  // namespace

DocumentRows find_data_set(const DataEntry& entry,
                           const std::optional<std::filesystem::path>& folder) {
  const Dataset dataset = find_dataset(entry.name, folder);
  // A registered file is whole: what its entry says of parts is of the same data on the hub.
  std::error_code unknown;
  const bool registered = std::filesystem::is_regular_file(dataset.data, unknown);
  DataPart part = registered ? DataPart{} : dataset.part;
  if (entry.split) part.split = entry.split;
  if (entry.subset) part.subset = entry.subset;
  auto files = find_data_files(dataset.data, part);
  if (!files) {
    throw BadRequest("data: there is no file " + dataset.data.string() +
                     " (give a text or data file, a folder of them, or a name in a "
                     "dataset_info.json)");
  }
  DocumentRows rows{.name = entry.name.string(),
                    .files = std::move(*files),
                    .format = {},
                    .max_samples = entry.max_samples,
                    .weight = entry.weight.value_or(1),
                    .share = entry.share.value_or(1),
                    .num_samples = dataset.num_samples};
  settle_format(entry, dataset, rows);
  if (entry.max_percent) {
    const std::int64_t most = part_of_rows(rows, *entry.max_percent);
    rows.max_samples = std::min(rows.max_samples.value_or(most), most);
  }
  return rows;
}

}  // namespace sluice::engine
