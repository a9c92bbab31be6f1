// The results folder of an experiment: tables, plot, raw samples and manifest.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_record.hpp"
#include "profiler/ablation/experiment.hpp"
#include "profiler/ablation/interval_of_median.hpp"

namespace sluice::profiler {

/// Of a results folder: the experiment with its defaults.
inline constexpr const char* kExperimentFile = "experiment.yaml";

/// Makes the folder and writes experiment.yaml, the experiment with its defaults. Throws BadRequest
/// where the folder holds another experiment.
void begin_folder(const Experiment& experiment, const std::filesystem::path& folder);

/// cells.csv, samples.csv, table.md, plot.svg, report.html, manifest.json. All but the manifest are
/// functions of the cells' records.
void write_results(const Experiment& experiment,
                   const std::vector<std::optional<CellRecord>>& cells,
                   const std::filesystem::path& folder, const std::string& command);

/// About what a folder takes without its cells, most of it the page's scripts.
[[nodiscard]] Bytes bytes_of_results(const Experiment& experiment);
/// About what a cell adds to it.
[[nodiscard]] Bytes bytes_of_results(const CellRecord& record, const Experiment& experiment);

/// Of the cell's measured steps, grouped by repeat; none where it did not run.
[[nodiscard]] std::optional<MedianInterval> measured_of(const CellRecord& record,
                                                        const Experiment& experiment);

/// Markdown: a row a cell, each beside the first that fits.
[[nodiscard]] std::string ablation_table(const Experiment& experiment,
                                         const std::vector<std::optional<CellRecord>>& cells);
/// A row a cell, every number in SI units.
[[nodiscard]] std::string cells_csv(const Experiment& experiment,
                                    const std::vector<std::optional<CellRecord>>& cells);
/// A row a measured step: cell, repeat, order, step, seconds, outlier.
[[nodiscard]] std::string samples_csv(const std::vector<std::optional<CellRecord>>& cells);
/// Throughput by cell, predicted as bars with intervals and measured as dots.
[[nodiscard]] std::string ablation_plot(const Experiment& experiment,
                                        const std::vector<std::optional<CellRecord>>& cells);

}  // namespace sluice::profiler
