#include "profiler/ablation/cells.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

/// The model's config.json with some of its fields set.
std::string changed_model(const std::string& model, const std::map<std::string, std::string>& set) {
  auto config =
      nlohmann::ordered_json::parse(planner::config_from_shape(planner::find_model(model)));
  for (const auto& [field, value] : set) {
    if (!config.contains(field)) {
      std::vector<std::string> names;
      for (const auto& item : config.items()) names.push_back(item.key());
      throw BadRequest("model." + field + ": not a field of " + model + "'s config.json" +
                       sim::did_you_mean(field, names));
    }
    const auto parsed = nlohmann::ordered_json::parse(value, nullptr, false);
    config[field] = parsed.is_discarded() ? nlohmann::ordered_json(value) : parsed;
  }
  std::string text = config.dump(1) + "\n";
  static_cast<void>(planner::shape_from_config(text, model));
  return text;
}

/// File name of a changed model, such as "qwen2.5-7b,num_hidden_layers=42.json".
std::string file_of_model(const std::string& model, const std::map<std::string, std::string>& set) {
  std::string name = std::filesystem::path(model).stem().string();
  if (!model.ends_with(".json")) name = std::filesystem::path(model).filename().string();
  for (const auto& [field, value] : set) name.append(",").append(field).append("=").append(value);
  for (char& letter : name) {
    if (letter == '/' || letter == ' ') letter = '_';
  }
  return name + ".json";
}

/// Builds one cell.
class CellBuilder {
 public:
  CellBuilder(const Experiment& experiment, std::size_t index) {
    cell_.index = index;
    cell_.config = experiment.baseline;
  }

  void take(const Level& level) {
    cell_.levels.push_back(level.name);
    for (const Setting& setting : level.settings) set(setting);
  }

  Cell finish(const Experiment& experiment, const std::filesystem::path& models) {
    if (!model_fields_.empty()) set_model(experiment, models);
    return std::move(cell_);
  }

 private:
  void set_model(const Experiment& experiment, const std::filesystem::path& models) {
    try {
      cell_.model_text = changed_model(cell_.config.model, model_fields_);
    } catch (const BadRequest& error) {
      throw BadRequest("factors: " + cell_.name(experiment) + ": " + error.what());
    }
    cell_.config.model = (models / file_of_model(cell_.config.model, model_fields_)).string();
  }

  void set(const Setting& setting) {
    if (setting.path.starts_with("model.")) {
      model_fields_[setting.path.substr(6)] = setting.value;
    } else {
      planner::set_path(cell_.config, setting.path, setting.value);
    }
  }

  Cell cell_;
  std::map<std::string, std::string> model_fields_;
};

}  // namespace

std::string Cell::name(const Experiment& experiment) const {
  std::string text;
  for (std::size_t f = 0; f < levels.size(); ++f) {
    text.append(text.empty() ? "" : ", ").append(experiment.factors[f].name).append("=");
    text.append(levels[f]);
  }
  return text;
}

std::vector<std::vector<std::size_t>> choices_of(const Experiment& experiment) {
  const auto& factors = experiment.factors;
  const std::vector<std::size_t> first(factors.size(), 0);
  std::vector<std::vector<std::size_t>> cells{first};
  switch (experiment.design) {
    case Design::full:
      for (std::size_t f = 0; f < factors.size(); ++f) {
        std::vector<std::vector<std::size_t>> longer;
        longer.reserve(cells.size() * factors[f].levels.size());
        for (const auto& cell : cells) {
          for (std::size_t level = 0; level < factors[f].levels.size(); ++level) {
            longer.push_back(cell);
            longer.back()[f] = level;
          }
        }
        cells = std::move(longer);
      }
      break;
    case Design::one_at_a_time:
      for (std::size_t f = 0; f < factors.size(); ++f) {
        for (std::size_t level = 1; level < factors[f].levels.size(); ++level) {
          cells.push_back(first);
          cells.back()[f] = level;
        }
      }
      break;
    case Design::paired:
      for (std::size_t level = 1; level < factors.front().levels.size(); ++level) {
        cells.emplace_back(factors.size(), level);
      }
      break;
  }
  return cells;
}

std::vector<Cell> cells_of(const Experiment& experiment, const std::filesystem::path& models) {
  std::vector<Cell> cells;
  for (const std::vector<std::size_t>& choice : choices_of(experiment)) {
    CellBuilder cell(experiment, cells.size());
    for (std::size_t f = 0; f < choice.size(); ++f) {
      cell.take(experiment.factors[f].levels[choice[f]]);
    }
    cells.push_back(cell.finish(experiment, models));
  }
  return cells;
}

CellShare parse_share(const std::string& text) {
  const auto slash = text.find('/');
  const char* form = "--cells: \"i/n\" has i from 1 to n, such as 2/8";
  if (slash == std::string::npos) throw BadRequest(form);
  const std::int64_t part = planner::parse_count(text.substr(0, slash), "--cells");
  const std::int64_t parts = planner::parse_count(text.substr(slash + 1), "--cells");
  if (part < 1 || parts < part) throw BadRequest(form);
  return {static_cast<std::size_t>(part), static_cast<std::size_t>(parts)};
}

void write_models(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    if (cell.model_text) planner::write_whole_file(cell.config.model, *cell.model_text);
  }
}

}  // namespace sluice::profiler
