#include "engine/model_files/checkpoint_file.hpp"

#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "planner/files/hash.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
constexpr int kVersion = 1;
constexpr int kLevels = 8;

json files_json(const std::vector<FileRecord>& files) {
  json list = json::array();
  for (const FileRecord& file : files) {
    list.push_back({{"name", file.name}, {"bytes", file.bytes.count()}, {"sha256", file.sha256}});
  }
  return list;
}

/// Reads the list of files. Names that lead out of the folder are refused, because Sluice never
/// writes any.
std::vector<FileRecord> files_of(const json& list) {
  std::vector<FileRecord> files;
  for (const json& file : list) {
    files.push_back({file.at("name").get<std::string>(),
                     Bytes(file.at("bytes").get<std::int64_t>()),
                     file.at("sha256").get<std::string>()});
    if (std::filesystem::path(files.back().name).filename() != files.back().name) {
      throw BadRequest("a file's name leads elsewhere");
    }
  }
  return files;
}

planner::StateType state_of(const std::string& name, const std::string& where) {
  using planner::StateType;
  for (const StateType type : {StateType::fp32, StateType::bf16, StateType::int8}) {
    if (name == planner::to_string(type)) return type;
  }
  throw BadRequest(where + ": state " + name + " is unknown");
}

/// Files of earlier versions have no hashes.
CarriedRecord carried_of(const json& stated) {
  CarriedRecord record{.tensors = stated.at("tensors").get<std::int64_t>(),
                       .bytes = Bytes(stated.at("bytes").get<std::int64_t>())};
  if (const auto found = stated.find("sha256"); found != stated.end()) {
    record.sha256 = found->get<std::map<std::string, std::string>>();
  }
  return record;
}

}  // namespace

std::string checkpoint_text(const CheckpointFile& file) {
  const CheckpointFacts& facts = file.facts;
  json body = {{"version", kVersion},
               {"step", facts.step},
               {"sequences", facts.sequences},
               {"steps", facts.steps},
               {"seed", facts.seed},
               {"job_hash", facts.job_hash},
               {"numerics_id", facts.numerics_id},
               {"data_sha256", facts.data_sha256},
               {"run_yaml", facts.run_yaml},
               {"model", facts.model},
               {"model_folder", nullptr},
               {"val_loss", nullptr},
               {"files", files_json(file.files)}};
  if (facts.model_folder) body["model_folder"] = facts.model_folder->string();
  if (facts.val_loss) body["val_loss"] = *facts.val_loss;
  if (facts.jinja2) body["jinja2"] = *facts.jinja2;
  if (facts.turn_end) body["turn_end"] = *facts.turn_end;
  if (facts.template_sha256) body["template_sha256"] = *facts.template_sha256;
  if (facts.keeps_tokenizer) body["keeps_tokenizer"] = *facts.keeps_tokenizer;
  if (facts.carried) {
    body["carried"] = {{"tensors", facts.carried->tensors},
                       {"bytes", facts.carried->bytes.count()}};
    if (!facts.carried->sha256.empty()) body["carried"]["sha256"] = facts.carried->sha256;
  }
  // Files of earlier versions, of fp32 state alone, lack it.
  if (facts.state != planner::StateType::fp32) body["state"] = planner::to_string(facts.state);
  if (facts.lacks_second_moments) body["lacks_second_moments"] = true;
  body["hash"] = planner::sha256_hex(body.dump());
  return body.dump(2) + "\n";
}

CheckpointFile read_checkpoint_text(const std::string& text, const std::string& where) {
  json body = parse_strict_json(text, where, kLevels);
  try {
    const auto hash = body.at("hash").get<std::string>();
    body.erase("hash");
    if (planner::sha256_hex(body.dump()) != hash) {
      throw BadRequest(where + ": does not have the hash it states: it was changed");
    }
    if (body.at("version") != kVersion) {
      throw BadRequest(where + ": version " + body.at("version").dump() +
                       " is unknown; known: " + std::to_string(kVersion));
    }
    CheckpointFile file{.facts = {.step = body.at("step").get<std::int64_t>(),
                                  .sequences = body.at("sequences").get<std::int64_t>(),
                                  .steps = body.at("steps").get<std::int64_t>(),
                                  .seed = body.at("seed").get<std::int64_t>(),
                                  .job_hash = body.at("job_hash").get<std::string>(),
                                  .numerics_id = body.at("numerics_id").get<std::string>(),
                                  .data_sha256 = body.at("data_sha256").get<std::string>(),
                                  .run_yaml = body.at("run_yaml").get<std::string>(),
                                  .model = body.at("model").get<std::string>(),
                                  .model_folder = std::nullopt,
                                  .val_loss = std::nullopt},
                        .files = files_of(body.at("files"))};
    if (!body.at("model_folder").is_null()) {
      file.facts.model_folder = body.at("model_folder").get<std::string>();
    }
    // Files of earlier versions lack it.
    if (const auto loss = body.find("val_loss"); loss != body.end() && !loss->is_null()) {
      file.facts.val_loss = loss->get<double>();
    }
    if (body.contains("jinja2")) file.facts.jinja2 = body["jinja2"].get<std::string>();
    if (body.contains("turn_end")) file.facts.turn_end = body["turn_end"].get<std::string>();
    if (const auto found = body.find("template_sha256"); found != body.end()) {
      file.facts.template_sha256 = found->get<std::string>();
    }
    if (const auto found = body.find("keeps_tokenizer"); found != body.end()) {
      file.facts.keeps_tokenizer = found->get<bool>();
    }
    if (const auto found = body.find("carried"); found != body.end()) {
      file.facts.carried = carried_of(*found);
    }
    if (const auto found = body.find("state"); found != body.end()) {
      file.facts.state = state_of(found->get<std::string>(), where);
    }
    // Files of earlier versions, and of AdamW, have v of every tensor.
    if (const auto found = body.find("lacks_second_moments"); found != body.end()) {
      file.facts.lacks_second_moments = found->get<bool>();
    }
    return file;
  } catch (const json::exception&) {
    throw BadRequest(where + ": is no checkpoint that this version reads");
  }
}

}  // namespace sluice::engine
