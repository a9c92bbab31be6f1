// sluice fit kernels TABLE: fits a device's kernel model to measured times.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/words/parse.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/kernels/file.hpp"
#include "planner/kernels/table.hpp"
#include "sim/error.hpp"

namespace sluice::cli {
namespace {

using planner::KernelCheck;
using planner::KernelKind;
using planner::MeasuredKernel;
using Json = nlohmann::ordered_json;

struct FitRequest {
  std::string subject, table, kind, output;
  std::optional<std::string> split, device, source;
  std::optional<double> multiprocessors;
  planner::KernelFitOptions options;
  bool json = false;
};

FitRequest parse_fit(const Arguments& arguments) {
  CLI::App app("Fits kernel times to a table of measurements.", "fit");
  FitRequest request;
  app.add_option("kernels", request.subject, "the word kernels: what is fitted")->required();
  app.add_option("table", request.table,
                 "CSV, plain or gzip: m,n,k,latency (milliseconds), or "
                 "batch_size,isl,num_heads,num_key_value_heads,head_dim,latency")
      ->required();
  app.add_option("--kind", request.kind, "gemm or attention")->required();
  app.add_option("--train", request.split,
                 "which rows to fit to: a file of row numbers (from 0), of shapes, or of the words "
                 "train and test; left out, all");
  app.add_option("-o,--output", request.output,
                 "kernel model to write; one of the same device keeps its other kind")
      ->required();
  app.add_option("--device", request.device, "name of the device, where the table has none");
  app.add_option("--source", request.source, "where the table comes from, and its licence");
  app.add_option("--multiprocessors", request.multiprocessors,
                 "number on the device (as its datasheet says, or inferred)");
  app.add_option("--trees", request.options.correction.trees,
                 "number of trees in the correction; 0 for none")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app.add_option("--leaves", request.options.correction.leaves, "number of leaves of each tree")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_flag("--json", request.json, "one JSON object (docs/schemas/fit.schema.json)");
  parse(app, arguments);
  if (request.subject != "kernels") {
    throw BadRequest("fit: \"" + request.subject + "\" cannot be fitted: write fit kernels TABLE");
  }
  if (request.multiprocessors && !(*request.multiprocessors >= 1)) {
    throw BadRequest("--multiprocessors: must be at least 1");
  }
  request.options.multiprocessors = request.multiprocessors;
  return request;
}

KernelKind kind_of(const std::string& name) {
  if (name == "gemm") return KernelKind::gemm;
  if (name == "attention") return KernelKind::attention;
  throw BadRequest("--kind: \"" + name + "\" must be gemm or attention");
}

/// Rows with sizes as in training: products of at least 512 rows, sequences of at least 512 tokens.
std::vector<MeasuredKernel> large(KernelKind kind, const std::vector<MeasuredKernel>& rows) {
  constexpr double kLarge = 512;
  std::vector<MeasuredKernel> kept;
  for (const MeasuredKernel& row : rows) {
    if (row.shape.size[kind == KernelKind::gemm ? 0 : 1] >= kLarge) kept.push_back(row);
  }
  return kept;
}

Json to_json(const KernelCheck& check) {
  if (check.rows == 0) return nullptr;
  return {
      {"rows", check.rows}, {"median_error", check.median_error}, {"p90_error", check.p90_error}};
}

void print_check(const char* name, const KernelCheck& check) {
  if (check.rows == 0) return;
  std::printf("  %-28s %8lld shapes   median error %5.2f %%   90th percentile %5.2f %%\n", name,
              static_cast<long long>(check.rows), 100 * check.median_error, 100 * check.p90_error);
}

/// The model in `path` if it is of the same device, so that its fit of the other kind of kernel is
/// kept; else an empty model of that device.
planner::KernelModel existing(const std::string& path, const std::string& device) {
  if (std::filesystem::is_regular_file(path)) {
    const std::string text = planner::read_whole_file(path);
    if (planner::is_kernels_json(text)) {
      planner::KernelModel model = planner::kernels_from_json(text, path);
      if (model.device() == device) return model;
    }
  }
  return planner::KernelModel(device);
}

}  // namespace

int run_fit(const Arguments& arguments) {
  const FitRequest request = parse_fit(arguments);
  planner::require_writable(request.output);
  const KernelKind kind = kind_of(request.kind);
  const planner::KernelTable table =
      planner::read_kernel_table(request.table, kind, planner::Latency::required);
  std::vector<bool> train(table.rows.size(), true);
  if (request.split) train = planner::read_split(*request.split, kind, table);
  std::vector<bool> test = train;
  test.flip();
  const std::vector<MeasuredKernel> trained = measured_rows(table, train);
  const std::vector<MeasuredKernel> tested = measured_rows(table, test);
  if (trained.size() < planner::kLeastKernelRows) {
    throw BadRequest(request.split.value_or(request.table) + ": leaves " +
                     std::to_string(trained.size()) + " bf16 shapes to fit to, and a fit needs " +
                     std::to_string(planner::kLeastKernelRows) + ": train on more rows");
  }
  const std::string device =
      request.device.value_or(table.device.empty() ? "unknown" : table.device);
  planner::KernelFamily family = fit_kernels(kind, device, trained, request.options);
  family.source = request.source.value_or(std::filesystem::path(request.table).filename().string());
  planner::KernelModel model = existing(request.output, device);
  model.set(family);
  planner::write_whole_file(request.output, to_json_text(model));

  const KernelCheck on_trained = check_kernels(family, trained);
  const KernelCheck on_tested = check_kernels(family, tested);
  const KernelCheck on_large = check_kernels(family, large(kind, tested));
  if (request.json) {
    const Json json = {{"schema", "sluice/fit/1"},
                       {"kind", to_string(kind)},
                       {"device", device},
                       {"multiprocessors", family.multiprocessors},
                       {"rows", table.rows.size()},
                       {"skipped", table.rows.size() - trained.size() - tested.size()},
                       {"train", to_json(on_trained)},
                       {"test", to_json(on_tested)},
                       {"test_large", to_json(on_large)},
                       {"check", to_json(family.check)},
                       {"output", request.output}};
    std::cout << json.dump(2) << '\n';
    return static_cast<int>(ExitCode::done);
  }
  std::printf("%s of %s, %.0f multiprocessors, written to %s\n", to_string(kind), device.c_str(),
              family.multiprocessors, request.output.c_str());
  print_check("fitted to", on_trained);
  print_check("of these, held out once", family.check);
  print_check("not fitted to", on_tested);
  print_check(
      kind == KernelKind::gemm ? "  of these, m at least 512" : "  of these, isl at least 512",
      on_large);
  const auto skipped = table.rows.size() - trained.size() - tested.size();
  if (skipped > 0) std::printf("  %zu rows of another type or step are left out\n", skipped);
  return static_cast<int>(ExitCode::done);
}

}  // namespace sluice::cli
