#include "engine/run_folders/ledger.hpp"

#include <chrono>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "planner/files/hash.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

const std::string kNoHash(64, '0');

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string hash_of(json line) {
  line.erase("hash");
  return planner::sha256_hex(line.dump());
}

std::string text_of(const json& line, const char* field) {
  const auto found = line.find(field);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

LedgerSummary verify_ledger(const std::filesystem::path& file) {
  LedgerSummary summary{0, kNoHash};
  std::ifstream in(file);
  std::set<std::string> predictions;
  std::string text;
  while (std::getline(in, text)) {
    ++summary.lines;
    const auto broken = [&](const std::string& why) {
      return BadRequest(file.string() + ":" + std::to_string(summary.lines) + ": " + why +
                        ": the ledger was changed; move it away to begin a new one");
    };
    const json line = json::parse(text, nullptr, false);
    if (!line.is_object()) throw broken("not a JSON object");
    if (text_of(line, "previous") != summary.last_hash) {
      throw broken("`previous` is not the hash of the line before");
    }
    if (text_of(line, "hash") != hash_of(line)) throw broken("`hash` does not match the line");
    summary.last_hash = text_of(line, "hash");
    const std::string kind = text_of(line, "kind");
    if (kind == "prediction") {
      predictions.insert(summary.last_hash);
    } else if (kind != "measurement" || !predictions.contains(text_of(line, "prediction"))) {
      throw broken("neither a prediction nor a measurement of an earlier one");
    }
  }
  return summary;
}

Ledger::Ledger(const std::filesystem::path& file)
    : last_hash_(verify_ledger(file).last_hash), file_(file, LineFile::Open::append) {}

std::string Ledger::append(const LedgerPrediction& prediction) {
  json line{{"kind", "prediction"},
            {"job_hash", prediction.job_hash},
            {"plan_hash", prediction.plan_hash},
            {"cost_model_hash", prediction.cost_model_hash},
            {"numerics_id", prediction.numerics_id},
            {"commit", prediction.commit},
            {"step_s", prediction.step.count()},
            {"step_s_low", prediction.step_low.count()},
            {"step_s_high", prediction.step_high.count()}};
  for (const auto& [key, text] : {std::pair{"knowledge", &prediction.knowledge},
                                  {"machine", &prediction.machine},
                                  {"job", &prediction.job}}) {
    if (!text->empty()) line[key] = *text;
  }
  if (prediction.rehearsal) line["rehearsal"] = true;
  return append_json(line.dump());
}

std::string Ledger::append(const LedgerMeasurement& measurement) {
  return append_json(json{{"kind", "measurement"},
                          {"prediction", measurement.prediction},
                          {"steps", measurement.steps},
                          {"step_s", measurement.median_step.count()}}
                         .dump());
}

std::string Ledger::append_json(const std::string& body) {
  json line = json::parse(body);
  // Another process may have written since: parts of an experiment run at the same time with one
  // ledger.
  const LineFile::Lock lock(file_);
  last_hash_ = verify_ledger(file_.path()).last_hash;
  line["time"] = utc_now();
  line["previous"] = last_hash_;
  line["hash"] = hash_of(line);
  file_.append(line.dump());
  file_.flush();
  last_hash_ = text_of(line, "hash");
  return last_hash_;
}

}  // namespace sluice::engine
