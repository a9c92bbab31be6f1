#include "planner/plans/plan_file.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "planner/files/choice.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/plans/plan_choices.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;
using sim::JsonObject;

constexpr const char* kPlanSchema = "sluice/plan/1";

Json to_json(const UnitPlan& unit) {
  Json json = {{"weights", to_string(unit.weights)},
               {"gradients", to_string(unit.gradients)},
               {"state", to_string(unit.state)},
               {"keep", to_string(unit.keep)},
               {"keep_tier", to_string(unit.keep_tier)},
               {"executor", to_string(unit.executor)},
               {"when", to_string(unit.when)}};
  if (unit.staging != Staging::whole) json["staging"] = to_string(unit.staging);
  if (unit.resident != Extent::whole) json["resident"] = to_string(unit.resident);
  return json;
}

UnitPlan to_unit(const JsonObject& json) {
  json.refuse_unknown({"weights", "gradients", "state", "keep", "keep_tier", "executor", "when",
                       "staging", "resident"});
  const auto field = [&json](const char* key) { return json.where() + ": " + key; };
  UnitPlan unit;
  unit.weights = parse_tier(json.text("weights"), field("weights"));
  unit.gradients = parse_tier(json.text("gradients"), field("gradients"));
  unit.state = parse_tier(json.text("state"), field("state"));
  unit.keep = parse_keep(json.text("keep"), field("keep"));
  unit.keep_tier = parse_tier(json.text("keep_tier"), field("keep_tier"));
  unit.executor = parse_executor(json.text("executor"), field("executor"));
  unit.when = parse_when(json.text("when"), field("when"));
  if (json.has("staging")) unit.staging = parse_staging(json.text("staging"), field("staging"));
  if (json.has("resident")) unit.resident = parse_extent(json.text("resident"), field("resident"));
  return unit;
}

Json to_json(const LayoutRow& row) {
  return {{"arena", row.arena},           {"tensor", row.tensor},
          {"offset", row.offset.count()}, {"bytes", row.bytes.count()},
          {"first_task", row.first_task}, {"last_task", row.last_task}};
}

Json to_json(const HostPass& pass) {
  return {{"name", pass.name},
          {"moment", to_string(pass.moment)},
          {"over", to_string(pass.over)},
          {"threads", to_string(pass.threads)},
          {"bytes_per_parameter", pass.bytes_per_parameter}};
}

HostPass to_host_pass(const JsonObject& json) {
  json.refuse_unknown({"name", "moment", "over", "threads", "bytes_per_parameter"});
  const auto field = [&json](const char* key) { return json.where() + ": " + key; };
  HostPass pass;
  pass.name = json.text("name");
  pass.moment = parse_moment(json.text("moment"), field("moment"));
  pass.over = parse_over(json.text("over"), field("over"));
  pass.threads = parse_pass_threads(json.text("threads"), field("threads"));
  pass.bytes_per_parameter = json.number("bytes_per_parameter");
  return pass;
}

std::int64_t not_negative(const JsonObject& json, const char* key) {
  const std::int64_t value = json.integer(key);
  if (value < 0) json.fail(key, std::to_string(value) + " must not be negative");
  return value;
}

LayoutRow to_row(const JsonObject& json) {
  json.refuse_unknown({"arena", "tensor", "offset", "bytes", "first_task", "last_task"});
  LayoutRow row;
  row.arena = json.text("arena");
  if (row.arena != "device" && row.arena != "host" && row.arena != "disk" &&
      row.arena != "shared") {
    json.fail("arena", "\"" + row.arena + "\" is not one of device, host, disk, shared");
  }
  row.tensor = json.text("tensor");
  row.offset = Bytes(not_negative(json, "offset"));
  row.bytes = Bytes(not_negative(json, "bytes"));
  row.first_task = json.text("first_task");
  row.last_task = json.text("last_task");
  return row;
}

Json to_json(const PlanPrediction& prediction) {
  return {{"step_s", prediction.step.count()},
          {"step_s_low", prediction.step_low.count()},
          {"step_s_high", prediction.step_high.count()},
          {"tokens_per_s", prediction.tokens_per_s},
          {"bound_s", prediction.bound.count()},
          {"bound_by", prediction.bound_by},
          {"cost_model_hash", prediction.cost_model_hash}};
}

PlanPrediction to_prediction(const JsonObject& json) {
  json.refuse_unknown({"step_s", "step_s_low", "step_s_high", "tokens_per_s", "bound_s", "bound_by",
                       "cost_model_hash"});
  PlanPrediction prediction;
  prediction.step = Seconds(json.number("step_s"));
  prediction.step_low = Seconds(json.number("step_s_low"));
  prediction.step_high = Seconds(json.number("step_s_high"));
  prediction.tokens_per_s = json.number("tokens_per_s");
  prediction.bound = Seconds(json.number("bound_s"));
  prediction.bound_by = json.text("bound_by");
  prediction.cost_model_hash = json.text("cost_model_hash");
  return prediction;
}

Plan to_plan(const JsonObject& json) {
  Plan plan;
  for (const JsonObject& layer : json.objects("layers")) plan.units.push_back(to_unit(layer));
  plan.weight_buffers = not_negative(json, "weight_buffers");
  plan.gradient_buffers = not_negative(json, "gradient_buffers");
  plan.activation_buffers = not_negative(json, "activation_buffers");
  if (json.has("state_buffers")) plan.state_buffers = not_negative(json, "state_buffers");
  if (json.has("stream_buffers")) plan.stream_buffers = not_negative(json, "stream_buffers");
  if (json.has("disk_buffers")) plan.disk_buffers = not_negative(json, "disk_buffers");
  if (json.has("disk_buffer_bytes")) {
    plan.disk_buffer = Bytes(not_negative(json, "disk_buffer_bytes"));
  }
  if (json.has("saved_records")) {
    for (const std::string& level : json.texts("saved_records")) {
      plan.saved_records.push_back(parse_record_level(level, json.where() + ": saved_records"));
    }
  }
  if (json.has("checkpoint_interval")) {
    plan.checkpoint_interval = not_negative(json, "checkpoint_interval");
  }
  if (json.has("ranks")) plan.ranks = not_negative(json, "ranks");
  if (json.has("hosts")) plan.hosts = not_negative(json, "hosts");
  if (json.has("exchange_piece_bytes")) {
    plan.exchange_piece = Bytes(not_negative(json, "exchange_piece_bytes"));
  }
  if (json.has("gather")) {
    plan.gather = parse_gather(json.text("gather"), json.where() + ": gather");
  }
  if (json.has("receive_buffers")) plan.receive_buffers = not_negative(json, "receive_buffers");
  if (json.has("host_passes")) {
    for (const JsonObject& pass : json.objects("host_passes")) {
      plan.host_passes.push_back(to_host_pass(pass));
    }
  }
  plan.prefetch_depth = not_negative(json, "prefetch_depth");
  plan.rounds = not_negative(json, "rounds");
  plan.micro_batches_per_round = not_negative(json, "micro_batches_per_round");
  plan.copy_chunk = Bytes(not_negative(json, "copy_chunk_bytes"));
  plan.threads = not_negative(json, "threads");
  return plan;
}

}  // namespace

std::string to_json_text(const PlanFile& file) {
  const Plan& plan = file.plan;
  Json json = {{"schema", kPlanSchema},
               {"job_hash", file.job_hash},
               {"profile_hash", file.profile_hash},
               {"numerics_id", file.numerics_id},
               {"weight_buffers", plan.weight_buffers},
               {"gradient_buffers", plan.gradient_buffers},
               {"activation_buffers", plan.activation_buffers},
               {"state_buffers", plan.state_buffers},
               {"stream_buffers", plan.stream_buffers},
               {"prefetch_depth", plan.prefetch_depth},
               {"rounds", plan.rounds},
               {"micro_batches_per_round", plan.micro_batches_per_round},
               {"copy_chunk_bytes", plan.copy_chunk.count()},
               {"threads", plan.threads},
               {"layers", Json::array()},
               {"layout", Json::array()}};
  if (uses_disk(plan)) {
    json["disk_buffers"] = plan.disk_buffers;
    json["disk_buffer_bytes"] = plan.disk_buffer.count();
  }
  for (const Keep level : plan.saved_records) json["saved_records"].push_back(to_string(level));
  if (plan.checkpoint_interval != 1) json["checkpoint_interval"] = plan.checkpoint_interval;
  if (plan.ranks != 1) {
    json["ranks"] = plan.ranks;
    json["exchange_piece_bytes"] = plan.exchange_piece.count();
    json["receive_buffers"] = plan.receive_buffers;
    if (plan.hosts != 1) json["hosts"] = plan.hosts;
    if (plan.gather != Gather::fabric) json["gather"] = to_string(plan.gather);
  }
  for (const HostPass& pass : plan.host_passes) json["host_passes"].push_back(to_json(pass));
  for (const UnitPlan& unit : plan.units) json["layers"].push_back(to_json(unit));
  for (const LayoutRow& row : file.layout) json["layout"].push_back(to_json(row));
  if (file.prediction) json["prediction"] = to_json(*file.prediction);
  return json.dump(1) + "\n";
}

PlanFile plan_file_from_json(const std::string& text, const std::string& where) {
  const sim::JsonDocument parsed = sim::parse_json(text, where);
  const JsonObject json(parsed, where);
  if (json.text("schema") != kPlanSchema) {
    json.fail("schema", std::string("must be \"") + kPlanSchema + "\", not \"" +
                            json.text("schema") + "\": make the plan again with `sluice plan`");
  }
  json.refuse_unknown({"schema",
                       "job_hash",
                       "profile_hash",
                       "numerics_id",
                       "layers",
                       "weight_buffers",
                       "gradient_buffers",
                       "activation_buffers",
                       "state_buffers",
                       "stream_buffers",
                       "disk_buffers",
                       "disk_buffer_bytes",
                       "saved_records",
                       "prefetch_depth",
                       "rounds",
                       "micro_batches_per_round",
                       "copy_chunk_bytes",
                       "threads",
                       "layout",
                       "prediction",
                       "checkpoint_interval",
                       "host_passes",
                       "ranks",
                       "hosts",
                       "gather",
                       "exchange_piece_bytes",
                       "receive_buffers"});
  PlanFile file;
  file.job_hash = json.text("job_hash");
  file.profile_hash = json.text("profile_hash");
  file.numerics_id = json.find_text("numerics_id").value_or("");
  file.plan = to_plan(json);
  if (json.has("layout")) {
    for (const JsonObject& row : json.objects("layout")) file.layout.push_back(to_row(row));
  }
  if (json.has("prediction")) file.prediction = to_prediction(json.object("prediction"));
  return file;
}

void write_plan_file(const PlanFile& file, const std::filesystem::path& path) {
  write_whole_file(path, to_json_text(file));
}

PlanFile read_plan_file(const std::filesystem::path& path) {
  return plan_file_from_json(read_whole_file(path), path.string());
}

void check_plan_for(const PlanFile& file, const Job& job) {
  const std::string hash = job_hash(job);
  if (file.job_hash != hash) {
    constexpr std::size_t kShown = 12;
    throw BadRequest("plan: job_hash: the plan is for another job (" +
                     file.job_hash.substr(0, kShown) + ", this one is " + hash.substr(0, kShown) +
                     "): give the run that it was made for, or make one with `sluice plan`");
  }
  validate(file.plan, job);
}

}  // namespace sluice::planner
