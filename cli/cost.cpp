// sluice cost gemm|attention: what kernels cost on a machine, one shape or a table of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/words/parse.hpp"
#include "planner/catalogue/kernel_costs.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/kernels/table.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::KernelCost;
using planner::KernelKind;
using planner::KernelRow;
using planner::KernelShape;
using Json = nlohmann::ordered_json;

/// Names of the options for sizes, one for each column of the kernel's table, in the same order;
/// the first name of each is the short one.
constexpr std::array kGemmOptions = {"--m,-m", "--n,-n", "--k,-k"};
constexpr std::array kAttentionOptions = {"--batch-size,--batch_size,--sequences",
                                          "--seq-len,--isl,--seq_len",
                                          "--heads,--num-heads,--num_heads",
                                          "--kv-heads,--num-key-value-heads,--num_key_value_heads",
                                          "--head-dim,--head_dim",
                                          "--window,--window-size,--window_size"};

struct CostRequest {
  KernelKind kind = KernelKind::gemm;
  std::string machine;
  std::string table, output;
  std::array<std::optional<std::int64_t>, 6> sizes;
  bool json = false;
};

std::span<const char* const> options_of(KernelKind kind) {
  if (kind == KernelKind::gemm) return kGemmOptions;
  return kAttentionOptions;
}

/// Adds attention's options to gemm's if no kernel was named.
void add_other_options(CLI::App& app, CostRequest& request) {
  const auto names = options_of(KernelKind::attention);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    if (app.get_option_no_throw(name.substr(0, name.find(','))) == nullptr) {
      app.add_option(name, request.sizes[i]);
    }
  }
}

CostRequest parse_cost(const Arguments& arguments) {
  const std::string usage = "cost gemm|attention --machine X (sizes | TABLE.csv)";
  CostRequest request;
  Arguments rest = arguments;
  bool named = false;
  const auto word = std::ranges::find_if(
      rest.strings, [](const std::string& s) { return s == "gemm" || s == "attention"; });
  if (word != rest.strings.end()) {
    request.kind = *word == "gemm" ? KernelKind::gemm : KernelKind::attention;
    rest.strings.erase(word);
    named = true;
  }
  CLI::App app("What kernels cost on a machine. Usage: sluice " + usage, "cost");
  app.add_option("table", request.table,
                 "CSV of shapes, plain or gzip, columns as sluice fit takes");
  app.add_option("--csv", request.table, "another name for TABLE");
  app.add_option("--machine", request.machine,
                 "catalogue name, profile file, here, or what sluice fit wrote");
  const auto names = options_of(request.kind);
  for (std::size_t i = 0; i < names.size(); ++i) {
    app.add_option(names[i], request.sizes[i],
                   std::string(planner::kernel_columns(request.kind)[i].name) + " of one shape");
  }
  app.add_option("-o,--output", request.output, "write the CSV there, not to stdout");
  app.add_flag("--json", request.json, "one JSON object (docs/schemas/cost.schema.json)");
  if (!named) add_other_options(app, request);  // Makes the refusal name the missing kernel.
  parse(app, rest);
  if (!named) throw BadRequest("cost: say which kernel: " + usage);
  if (request.machine.empty()) {
    throw BadRequest("--machine is missing: sluice machines lists the names");
  }
  return request;
}

KernelShape shape_of(const CostRequest& request) {
  const auto columns = planner::kernel_columns(request.kind);
  KernelShape shape;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string names = options_of(request.kind)[i];
    const std::string name = names.substr(0, names.find(','));
    if (!request.sizes[i]) {
      // Default: as many key-value heads as heads, and no window.
      if (request.kind == KernelKind::attention && i == 3) shape.size[3] = shape.size[2];
      if (columns[i].optional || i == 3) continue;
      throw BadRequest(name + " is missing: give every size of the shape, or a CSV of shapes");
    }
    if (*request.sizes[i] < (columns[i].optional ? 0 : 1)) {
      throw BadRequest(name + ": " + std::to_string(*request.sizes[i]) + " must be positive");
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (*request.sizes[i] > kMost) {
      throw BadRequest(name + ": " + std::to_string(*request.sizes[i]) + " must be at most " +
                       std::to_string(kMost));
    }
    shape.size[i] = static_cast<double>(*request.sizes[i]);
  }
  if (!shares_heads_evenly(request.kind, shape)) {
    throw BadRequest("--kv-heads: " + std::to_string(*request.sizes[3]) + " must divide --heads " +
                     std::to_string(*request.sizes[2]) +
                     ": each serves as many heads as any other");
  }
  return shape;
}

const char* name_of(planner::Evidence evidence) {
  switch (evidence) {
    case planner::Evidence::measured:
      return "measured";
    case planner::Evidence::fitted:
      return "fitted";
    case planner::Evidence::datasheet:
      break;
  }
  return "datasheet";
}

Json to_json(KernelKind kind, const KernelShape& shape, const KernelCost& cost) {
  Json json = Json::object();
  const auto columns = planner::kernel_columns(kind);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    json[columns[i].name] = static_cast<std::int64_t>(shape.size[i]);
  }
  const double flop = kernel_flops(kind, shape).count();
  json["time_s"] = cost.time.time.count();
  json["time_s_low"] = cost.time.low.count();
  json["time_s_high"] = cost.time.high.count();
  json["flop"] = flop;
  json["flop_per_s"] = flop / cost.time.time.count();
  json["moved_bytes"] = kernel_bytes(kind, shape);
  json["evidence"] = name_of(cost.evidence);
  return json;
}

int cost_one(const CostRequest& request, const planner::KernelCosts& costs) {
  const KernelShape shape = shape_of(request);
  const KernelCost cost = costs.cost(request.kind, shape);
  if (request.json) {
    Json json = {{"schema", "sluice/cost/1"},
                 {"kind", to_string(request.kind)},
                 {"machine", request.machine}};
    json.update(to_json(request.kind, shape, cost));
    std::cout << json.dump(2) << '\n';
    return static_cast<int>(ExitCode::done);
  }
  const double rate = kernel_flops(request.kind, shape).count() / cost.time.time.count();
  std::printf("%s on %s: %s (%s to %s), %s, %s\n", to_string(request.kind), request.machine.c_str(),
              planner::format_seconds(cost.time.time).c_str(),
              planner::format_seconds(cost.time.low).c_str(),
              planner::format_seconds(cost.time.high).c_str(),
              planner::format_rate(FlopsPerSecond(rate)).c_str(), name_of(cost.evidence));
  return static_cast<int>(ExitCode::done);
}

std::string csv_of(KernelKind kind, const planner::KernelTable& table,
                   const std::vector<KernelCost>& costs) {
  std::string text;
  const auto columns = planner::kernel_columns(kind);
  for (const planner::KernelColumn& column : columns) text += std::string(column.name) + ",";
  text += "time_s,time_s_low,time_s_high,evidence\n";
  char number[32];
  for (std::size_t i = 0; i < costs.size(); ++i) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      text += std::to_string(static_cast<std::int64_t>(table.rows[i].shape.size[c])) + ",";
    }
    for (const Seconds time : {costs[i].time.time, costs[i].time.low, costs[i].time.high}) {
      std::snprintf(number, sizeof number, "%.9g,", time.count());
      text += number;
    }
    text += std::string(name_of(costs[i].evidence)) + "\n";
  }
  return text;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(values.size() - 1)))];
}

int cost_table(const CostRequest& request, const planner::KernelCosts& costs) {
  const planner::KernelTable table =
      planner::read_kernel_table(request.table, request.kind, planner::Latency::optional);
  std::vector<KernelCost> found;
  std::vector<double> errors;
  for (const KernelRow& row : table.rows) {
    found.push_back(costs.cost(request.kind, row.shape));
    if (row.time && row.modelled) {
      errors.push_back(std::abs(found.back().time.time / *row.time - 1));
    }
  }
  if (request.json) {
    Json json = {{"schema", "sluice/cost/1"},
                 {"kind", to_string(request.kind)},
                 {"machine", request.machine},
                 {"rows", Json::array()}};
    for (std::size_t i = 0; i < found.size(); ++i) {
      Json row = to_json(request.kind, table.rows[i].shape, found[i]);
      if (table.rows[i].time) row["measured_s"] = table.rows[i].time->count();
      json["rows"].push_back(std::move(row));
    }
    if (!errors.empty()) {
      json["median_error"] = quantile(errors, 0.5);
      json["p90_error"] = quantile(errors, 0.9);
    }
    std::cout << json.dump() << '\n';
  } else if (request.output.empty()) {
    std::cout << csv_of(request.kind, table, found);
  }
  if (!request.output.empty()) {
    planner::write_whole_file(request.output, csv_of(request.kind, table, found));
    if (!request.json) {
      std::printf("wrote %s, %zu shapes\n", request.output.c_str(), found.size());
      if (!errors.empty()) {
        std::printf("against the table's times: median error %.2f %%, 90th percentile %.2f %%\n",
                    100 * quantile(errors, 0.5), 100 * quantile(errors, 0.9));
      }
    }
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace

int run_cost(const Arguments& arguments) {
  const CostRequest request = parse_cost(arguments);
  const bool sizes =
      std::ranges::any_of(request.sizes, [](const auto& s) { return s.has_value(); });
  if (sizes && !request.table.empty()) {
    throw BadRequest("cost: give the sizes of one shape or a CSV, not both");
  }
  const auto costs = planner::KernelCosts::of_machine(request.machine);
  return request.table.empty() ? cost_one(request, costs) : cost_table(request, costs);
}

}  // namespace sluice::cli
