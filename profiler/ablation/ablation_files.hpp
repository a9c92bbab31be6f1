// The results folder of an experiment: tables, plot, raw samples and manifest.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_result.hpp"
#include "profiler/ablation/experiment.hpp"
#include "profiler/ablation/interval_of_median.hpp"

namespace sluice::profiler {

/// The file of a results folder that holds the experiment with its defaults.
inline constexpr const char* kExperimentFile = "experiment.yaml";

/// Makes the folder and writes experiment.yaml, the experiment with its defaults. Throws BadRequest
/// where the folder holds another experiment.
void begin_folder(const Experiment& experiment, const std::filesystem::path& folder);

/// Writes cells.csv, samples.csv, table.md, plot.svg, report.html and manifest.json. All but the
/// manifest depend on the cells' results alone.
void write_results(const Experiment& experiment,
                   const std::vector<std::optional<CellResult>>& cells,
                   const std::filesystem::path& folder, const std::string& command);

/// Approximate bytes of a results folder without its cells, most of it the page's scripts.
[[nodiscard]] Bytes bytes_of_results(const Experiment& experiment);
/// Approximate bytes that a cell adds to the results folder.
[[nodiscard]] Bytes bytes_of_results(const CellResult& result, const Experiment& experiment);

/// Median of the cell's measured steps, grouped by repeat; none where it did not run.
[[nodiscard]] std::optional<MedianInterval> measured_of(const CellResult& result,
                                                        const Experiment& experiment);

/// A Markdown table with a row for each cell, compared with the first cell that fits.
[[nodiscard]] std::string ablation_table(const Experiment& experiment,
                                         const std::vector<std::optional<CellResult>>& cells);
/// A CSV table with a row for each cell, every number in SI units.
[[nodiscard]] std::string cells_csv(const Experiment& experiment,
                                    const std::vector<std::optional<CellResult>>& cells);
/// A CSV table with a row for each measured step: cell, repeat, order, step, seconds, outlier.
[[nodiscard]] std::string samples_csv(const std::vector<std::optional<CellResult>>& cells);
/// An SVG plot of throughput by cell: predictions as bars with intervals, measurements as dots.
[[nodiscard]] std::string ablation_plot(const Experiment& experiment,
                                        const std::vector<std::optional<CellResult>>& cells);

}  // namespace sluice::profiler
