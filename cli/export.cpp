// `sluice export RUNDIR -o FOLDER`: a run's weights as a Hugging Face model folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/forward/turn_ends.hpp"
#include "cli/shown/amount_bar.hpp"
#include "cli/words/parse.hpp"
#include "engine/model_files/exported_model.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using nlohmann::ordered_json;
using std::filesystem::path;

struct ExportRequest {
  std::string run, out, type = "bf16", shard = "5 GB";
  std::optional<std::int64_t> step;
  bool json = false;
};

ExportRequest parse_export(const Arguments& arguments) {
  CLI::App app("Writes a run's weights as a Hugging Face model folder.", "export");
  ExportRequest request;
  app.add_option("run", request.run, "run folder, or one checkpoint of it")->required();
  app.add_option("-o,--output", request.out, "folder to write; must not exist")->required();
  app.add_option("--dtype", request.type,
                 "type of the weights: bf16, fp16, fp32, mxfp4 (experts; the rest bf16)")
      ->capture_default_str();
  app.add_option("--shard-size", request.shard,
                 "largest size of a file (a larger tensor gets a file of its own)")
      ->capture_default_str();
  app.add_option("--step", request.step, "step of the checkpoint (the newest intact one)");
  app.add_flag("--json", request.json, "one JSON object (docs/schemas/export.schema.json)");
  parse(app, arguments);
  return request;
}

engine::ElementType type_of(const std::string& word) {
  using engine::ElementType;
  for (const ElementType type : {ElementType::bf16, ElementType::fp16, ElementType::fp32}) {
    if (word == to_string(type)) return type;
  }
  throw BadRequest("--dtype: \"" + word + "\" is unknown; known: bf16, fp16, fp32, mxfp4");
}

std::unique_ptr<engine::Checkpoint> checkpoint_of_request(const ExportRequest& request) {
  const path run = request.run;
  if (!std::filesystem::is_directory(run)) {
    throw BadRequest("there is no folder " + run.string() + ": give a run folder");
  }
  if (std::filesystem::exists(run / "checkpoint.json")) {
    return std::make_unique<engine::Checkpoint>(run);
  }
  const path checkpoints = run / "checkpoints";
  if (request.step) {
    const path folder = checkpoints / ("step-" + std::to_string(*request.step));
    if (!std::filesystem::is_directory(folder)) {
      throw BadRequest("--step: there is no " + folder.string());
    }
    return std::make_unique<engine::Checkpoint>(folder);
  }
  auto found = engine::newest_checkpoint(checkpoints, [](const std::string& reason) {
    sim::warn("skipping a damaged checkpoint: " + reason);
  });
  if (!found) {
    throw BadRequest(checkpoints.string() +
                     " holds no intact checkpoint: train the run without --no-checkpoint");
  }
  return found;
}

std::string json_text(const engine::Checkpoint& checkpoint, const engine::ExportedModel& exported,
                      const ExportRequest& request) {
  ordered_json out = {
      {"folder", request.out},           {"checkpoint", checkpoint.folder().string()},
      {"step", checkpoint.facts().step}, {"dtype", request.type},
      {"files", ordered_json::array()},  {"copied", exported.copied}};
  for (const engine::FileRecord& file : exported.weights) {
    out["files"].push_back(
        {{"name", file.name}, {"bytes", file.bytes.count()}, {"sha256", file.sha256}});
  }
  if (exported.carried.tensors > 0) {
    out["carried"] = {{"tensors", exported.carried.tensors},
                      {"bytes", exported.carried.bytes.count()},
                      {"parts", exported.carried_parts},
                      {"compared", !exported.carried.sha256.empty()}};
  }
  if (exported.mxfp4_error) out["mxfp4_error"] = *exported.mxfp4_error;
  return out.dump(2) + "\n";
}

std::string table(const engine::Checkpoint& checkpoint, const engine::ExportedModel& exported,
                  const ExportRequest& request) {
  Bytes bytes(0);
  for (const engine::FileRecord& file : exported.weights) bytes += file.bytes;
  std::string text = fmt::format("step {} of {}: {} of {} weights in {}\n", checkpoint.facts().step,
                                 checkpoint.folder().string(), planner::format_bytes(bytes),
                                 request.type, request.out);
  if (exported.mxfp4_error) {
    text += fmt::format("rounding experts to MXFP4 changed them by {:.2f} % (root mean square)\n",
                        100 * *exported.mxfp4_error);
  }
  if (exported.carried.tensors > 0) {
    text += fmt::format("with {} tensors ({}: {}) that were not trained, {}\n",
                        exported.carried.tensors, planner::format_bytes(exported.carried.bytes),
                        fmt::join(exported.carried_parts, ", "),
                        exported.carried.sha256.empty()
                            ? "copied (the checkpoint is older than hashes of them: not compared)"
                            : "unchanged since the run began by their SHA-256");
  }
  if (!exported.copied.empty()) {
    text += fmt::format("with {} from {}\n", fmt::join(exported.copied, ", "),
                        exported.source->string());
  } else {
    text += "without a tokenizer: the run's model had none beside its config.json\n";
  }
  return text;
}

}  // namespace

int run_export(const Arguments& arguments) {
  const ExportRequest request = parse_export(arguments);
  const bool mxfp4 = request.type == "mxfp4";
  engine::ExportOptions options{
      .out = request.out,
      .type = mxfp4 ? engine::ElementType::bf16 : type_of(request.type),
      .experts = mxfp4 ? engine::ExpertNumbers::mxfp4 : engine::ExpertNumbers::as_others,
      .shard = planner::parse_bytes(request.shard, "--shard-size")};
  if (options.shard == Bytes(0)) throw BadRequest("--shard-size: must be above 0");
  const auto checkpoint = checkpoint_of_request(request);
  options.end_tokens = turn_ends(checkpoint->facts(), engine::tokenizer_folder_of(*checkpoint));
  const std::int64_t all = planner::parameter_count(checkpoint->shape());
  std::atomic<std::int64_t> done{0};
  engine::ExportedModel exported;
  {
    AmountBar bar("writing weights");
    exported = engine::export_model(*checkpoint, options, [&](std::int64_t elements) {
      bar.show(done.fetch_add(elements) + elements, all);
    });
  }
  const std::string text = request.json ? json_text(*checkpoint, exported, request)
                                        : table(*checkpoint, exported, request);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace sluice::cli
