#include "planner/kernels/table.hpp"

#include <utility>

#include "planner/kernels/columns.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

struct TimeColumn {
  std::size_t place;
  std::string name;
  double seconds;  ///< Seconds that one unit of the column's numbers is.
};

std::optional<TimeColumn> time_column(const KernelHeader& header) {
  std::optional<TimeColumn> found;
  for (const auto& [name, seconds] : {std::pair{"latency", 1e-3}, std::pair{"latency_ms", 1e-3},
                                      std::pair{"latency_s", 1.0}, std::pair{"time_s", 1.0}}) {
    const auto place = header.find(name);
    if (!place) continue;
    if (found) header.refuse_doubled(found->name, name);
    found = TimeColumn{*place, name, seconds};
  }
  return found;
}

bool is_modelled(const KernelHeader& header, const CsvLine& line) {
  for (const char* column : {"gemm_dtype", "attn_dtype", "kv_cache_dtype"}) {
    const auto place = header.find(column);
    if (place && line.cells[*place] != "bfloat16" && line.cells[*place] != "bf16") return false;
  }
  const auto step = header.find("step");
  return !step || cell_number(line.cells[*step]).value_or(0) == 0;
}

}  // namespace

KernelTable read_kernel_table(const std::string& path, KernelKind kind, Latency latency) {
  const std::vector<CsvLine> lines = read_csv(path);
  if (lines.empty()) {
    throw BadRequest(path + ": line 1: the table is empty: its first line names the columns");
  }
  const KernelHeader header(path, lines.front());
  const auto places = header.sizes(kind);
  const auto time = time_column(header);
  if (!time && latency == Latency::required) {
    (void)header.at("latency", "add the measured milliseconds");
  }
  const auto device = header.find("device");
  KernelTable table{.file = path, .device = {}, .rows = {}};
  for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
    header.check_cells(*line);
    KernelRow row{.line = line->number,
                  .shape = read_shape(path, *line, kind, places),
                  .time = std::nullopt,
                  .modelled = is_modelled(header, *line)};
    if (time) {
      const std::string& text = line->cells[time->place];
      const auto value = cell_number(text);
      if (!value || *value <= 0) {
        refuse_cell(path, *line, time->name, text,
                    "must be a positive number: measure it again or remove the line");
      }
      row.time = Seconds(*value * time->seconds);
    }
    if (device && table.device.empty()) table.device = line->cells[*device];
    table.rows.push_back(row);
  }
  return table;
}

std::vector<MeasuredKernel> measured_rows(const KernelTable& table,
                                          const std::vector<bool>& chosen) {
  std::vector<MeasuredKernel> rows;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const KernelRow& row = table.rows[i];
    if (chosen[i] && row.modelled && row.time) rows.push_back({row.shape, *row.time});
  }
  return rows;
}

}  // namespace sluice::planner
