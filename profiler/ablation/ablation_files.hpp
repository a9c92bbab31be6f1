// Files of an experiment's results folder: tables, plot, raw samples and manifest.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_result.hpp"
#include "profiler/ablation/experiment.hpp"
#include "profiler/ablation/interval_of_median.hpp"

namespace sluice::profiler {

/// Name of the results folder's file that holds the experiment with its defaults written out.
inline constexpr const char* kExperimentFile = "experiment.yaml";

/// Makes the results folder and writes the experiment, with its defaults written out, to its
/// experiment.yaml. Throws BadRequest where the folder holds another experiment.
void begin_folder(const Experiment& experiment, const std::filesystem::path& folder);

/// Writes cells.csv, samples.csv, table.md, plot.svg, report.html and manifest.json to the folder.
/// All but the manifest depend only on the experiment and the cells' results.
void write_results(const Experiment& experiment,
                   const std::vector<std::optional<CellResult>>& cells,
                   const std::filesystem::path& folder, const std::string& command);

/// Approximate bytes of a results folder without its cells; most of them are the page's scripts.
[[nodiscard]] Bytes bytes_of_results(const Experiment& experiment);
/// Approximate bytes that a cell adds to the results folder.
[[nodiscard]] Bytes bytes_of_results(const CellResult& result, const Experiment& experiment);

/// Median of the cell's measured step times with its interval, grouped by repeat; none where the
/// cell did not run.
[[nodiscard]] std::optional<MedianInterval> measured_of(const CellResult& result,
                                                        const Experiment& experiment);

/// Text of a Markdown table with a row for each cell, compared with the first cell that fits.
[[nodiscard]] std::string ablation_table(const Experiment& experiment,
                                         const std::vector<std::optional<CellResult>>& cells);
/// Text of a CSV table with a row for each cell; numbers are in SI units.
[[nodiscard]] std::string cells_csv(const Experiment& experiment,
                                    const std::vector<std::optional<CellResult>>& cells);
/// Text of a CSV table with a row for each measured step: cell, repeat, order, step, seconds,
/// outlier.
[[nodiscard]] std::string samples_csv(const std::vector<std::optional<CellResult>>& cells);
/// Text of an SVG plot of throughput by cell: predictions as bars with intervals, measurements as
/// dots.
[[nodiscard]] std::string ablation_plot(const Experiment& experiment,
                                        const std::vector<std::optional<CellResult>>& cells);

}  // namespace sluice::profiler
