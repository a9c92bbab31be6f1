#include "engine/model_files/strict_json.hpp"

#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/json_reader.hpp"
#include "sim/json_tree.hpp"

namespace sluice::engine {

nlohmann::json parse_strict_json(std::string_view text, const std::string& where, int most_levels) {
  using sim::JsonFault;
  const auto read = sim::read_json(text, {.repeated_key = sim::RepeatedKey::at_once,
                                          .most_levels = static_cast<std::size_t>(most_levels)});
  if (const auto* document = std::get_if<sim::JsonDocument>(&read)) {
    return sim::JsonTreeBuilder<nlohmann::json>::build(document->root());
  }
  const auto& fault = std::get<JsonFault>(read);
  switch (fault.kind) {
    case JsonFault::Kind::depth:
      throw BadRequest(where + ": nests deeper than " + std::to_string(most_levels) + " levels");
    case JsonFault::Kind::repeated_key:
      throw BadRequest(where + ": \"" + fault.detail + "\" is given twice");
    case JsonFault::Kind::syntax:
      throw BadRequest(where + ": is not JSON (at byte " + std::to_string(fault.byte) + ")");
    case JsonFault::Kind::number_beyond_double:
    case JsonFault::Kind::size:
      break;
  }
  throw BadRequest(where + ": is not JSON that can be read");
}

}  // namespace sluice::engine
