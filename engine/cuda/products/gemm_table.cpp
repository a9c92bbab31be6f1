#include "engine/cuda/products/gemm_table.hpp"

#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "planner/catalogue/store.hpp"
#include "planner/files/choice.hpp"
#include "planner/files/hash.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::engine {
namespace {

using sim::Json;
using sim::JsonObject;

constexpr const char* kSchema = "sluice/gemm-table/1";
constexpr std::size_t kWordDigits = 16;

std::string to_hex(const GemmAlgorithm& algorithm) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t word : algorithm.words) {
    for (std::size_t digit = kWordDigits; digit-- > 0;) text += kDigits[word >> 4 * digit & 0xf];
  }
  return text;
}

GemmAlgorithm to_algorithm(const JsonObject& json) {
  const std::string text = json.text("algorithm");
  GemmAlgorithm algorithm;
  const bool digits = text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits || text.size() != kWordDigits * algorithm.words.size()) {
    json.fail("algorithm", "must be 128 hexadecimal digits");
  }
  for (std::size_t i = 0; i < algorithm.words.size(); ++i) {
    const char* begin = text.data() + i * kWordDigits;
    std::from_chars(begin, begin + kWordDigits, algorithm.words[i], 16);
  }
  return algorithm;
}

Json to_json(const GemmTableId& id) {
  return {{"gpu", id.gpu},
          {"compute_capability", id.compute_capability},
          {"multiprocessors", id.multiprocessors},
          {"cublaslt", id.cublaslt},
          {"workspace_bytes", id.workspace.count()}};
}

GemmTableId to_id(const JsonObject& json) {
  json.refuse_unknown(
      {"gpu", "compute_capability", "multiprocessors", "cublaslt", "workspace_bytes"});
  return {.gpu = json.text("gpu"),
          .compute_capability = json.text("compute_capability"),
          .multiprocessors = json.integer("multiprocessors"),
          .cublaslt = json.integer("cublaslt"),
          .workspace = Bytes(json.integer("workspace_bytes"))};
}

Json to_json(const GemmKey& key, const GemmEntry& entry) {
  Json json = {{"product", to_string(key.product)},
               {"tokens", key.tokens},
               {"in", key.in},
               {"out", key.out},
               {"bias", key.bias},
               {"adds", key.adds},
               {"time_s", entry.time.count()},
               {"first_time_s", entry.first_time.count()},
               {"suggestion", entry.suggestion},
               {"suggestions", entry.suggestions},
               {"configuration", entry.configuration},
               {"algorithm", to_hex(entry.algorithm)}};
  if (key.fp8) json["fp8"] = true;
  if (key.tensorwise) json["tensorwise"] = true;
  return json;
}

void read_entry(const JsonObject& json, GemmTable& table) {
  json.refuse_unknown({"product", "tokens", "in", "out", "bias", "adds", "fp8", "tensorwise",
                       "time_s", "first_time_s", "suggestion", "suggestions", "configuration",
                       "algorithm"});
  const GemmKey key{
      .product = planner::parse_choice(
          json.text("product"), json.where() + ": product",
          {GemmProduct::forward, GemmProduct::input_gradient, GemmProduct::weight_gradient}),
      .tokens = json.integer("tokens"),
      .in = json.integer("in"),
      .out = json.integer("out"),
      .bias = json.boolean("bias"),
      .adds = json.boolean("adds"),
      .fp8 = json.find_boolean("fp8").value_or(false),
      .tensorwise = json.find_boolean("tensorwise").value_or(false)};
  if (table.find(key) != nullptr) json.fail("product", to_string(key) + " is there twice");
  table.add(key, {.algorithm = to_algorithm(json),
                  .configuration = json.text("configuration"),
                  .time = Seconds(json.number("time_s")),
                  .first_time = Seconds(json.number("first_time_s")),
                  .suggestion = json.integer("suggestion"),
                  .suggestions = json.integer("suggestions")});
}

GemmTable read(const std::string& text, const std::string& where, const GemmTableId& id) {
  const sim::JsonDocument parsed = sim::parse_json(text, where);
  const JsonObject json(parsed, where);
  if (json.text("schema") != kSchema) {
    json.fail("schema", std::string("must be \"") + kSchema + "\"");
  }
  json.refuse_unknown({"schema", "for", "algorithms_sha256", "products"});
  if (to_id(json.object("for")) != id) {
    json.fail("for", "is another GPU or library than this one (" + id.gpu + ", cuBLASLt " +
                         std::to_string(id.cublaslt) + ")");
  }
  GemmTable table(id);
  for (const JsonObject& entry : json.objects("products")) read_entry(entry, table);
  if (json.text("algorithms_sha256") != table.algorithms_hash()) {
    json.fail("algorithms_sha256", "does not match the products");
  }
  return table;
}

}  // namespace

const GemmEntry* GemmTable::find(const GemmKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<GemmKey> GemmTable::missing(std::span<const GemmKey> keys) const {
  std::vector<GemmKey> absent;
  for (const GemmKey& key : keys) {
    if (find(key) == nullptr) absent.push_back(key);
  }
  return absent;
}

std::string GemmTable::algorithms_hash(std::span<const GemmKey> keys) const {
  planner::CanonicalText text(kSchema);
  for (const GemmKey& key : keys) {
    const GemmEntry* entry = find(key);
    check(entry != nullptr, "products of a job are tuned before they are hashed");
    text.add(to_string(key), to_hex(entry->algorithm));
  }
  return text.hash();
}

std::string GemmTable::algorithms_hash() const {
  std::vector<GemmKey> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return algorithms_hash(keys);
}

std::string to_json_text(const GemmTable& table) {
  Json products = Json::array();
  for (const auto& [key, entry] : table.entries()) products.push_back(to_json(key, entry));
  return Json{{"schema", kSchema},
              {"for", to_json(table.id())},
              {"algorithms_sha256", table.algorithms_hash()},
              {"products", std::move(products)}}
             .dump(2) +
         "\n";
}

GemmTable gemm_table_from_json(const std::string& text, const std::string& where,
                               const GemmTableId& id) {
  try {
    return read(text, where, id);
  } catch (const BadRequest& error) {
    throw BadRequest(std::string(error.what()) +
                     ": delete the file, and its products are tuned anew (the numerics id may "
                     "change)");
  }
}

std::filesystem::path gemm_table_file(const std::filesystem::path& root, const GemmTableId& id) {
  std::string name;
  for (const char letter : id.gpu) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? letter : '-';
  }
  // A short hash of the rest of the id and of the format.
  const std::string rest = planner::sha256_hex(kSchema + to_json(id).dump()).substr(0, 8);
  return root / "gemm" / (name + "-cublaslt" + std::to_string(id.cublaslt) + "-" + rest + ".json");
}

GemmTable read_gemm_table(const std::filesystem::path& file, const GemmTableId& id) {
  if (!std::filesystem::exists(file)) return GemmTable(id);
  return gemm_table_from_json(planner::read_whole_file(file), file.string(), id);
}

void write_gemm_table(const GemmTable& table, const std::filesystem::path& file) {
  planner::write_whole_file(file, to_json_text(table));
}

}  // namespace sluice::engine
