#include "engine/model_files/model_folder.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/model_files/strict_json.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using std::filesystem::path;

constexpr int kConfigLevels = 64;
constexpr const char* kFix = ": give the bf16, fp16 or fp32 original";

struct FormatName {
  std::string_view word;  ///< Value of quant_method, or suffix of a tensor's name.
  std::string_view name;
};
constexpr std::array kMethods = {FormatName{"gptq", "GPTQ"},
                                 FormatName{"awq", "AWQ"},
                                 FormatName{"mxfp4", "MXFP4"},
                                 FormatName{"fp8", "FP8"},
                                 FormatName{"fbgemm_fp8", "FP8 (FBGEMM)"},
                                 FormatName{"hqq", "HQQ"},
                                 FormatName{"aqlm", "AQLM"}};
constexpr std::array kTensorEnds = {FormatName{".g_idx", "GPTQ"},
                                    FormatName{".qweight", "GPTQ or AWQ"},
                                    FormatName{".qzeros", "GPTQ or AWQ"},
                                    FormatName{"_blocks", "MXFP4"},
                                    FormatName{"_scales", "MXFP4"},
                                    FormatName{".weight_scale_inv", "FP8"},
                                    FormatName{".weight_scale", "FP8"},
                                    FormatName{".weight_packed", "compressed-tensors"},
                                    FormatName{".weight.absmax", "bitsandbytes"},
                                    FormatName{".weight.quant_map", "bitsandbytes"}};

[[noreturn]] void refuse_format(const std::string& where, std::string_view name) {
  throw BadRequest("model: " + where + ": " + std::string(name) +
                   " weights are quantised, which is not supported" + kFix);
}

/// Refuses a folder whose config.json, or the older quantize_config.json beside it, states
/// quantisation.
void refuse_quantised_folder(const path& folder) {
  const path file = folder / "config.json";
  if (!std::filesystem::is_regular_file(file)) return;
  const json config =
      parse_strict_json(planner::read_whole_file(file), file.string(), kConfigLevels);
  const auto settings = config.find("quantization_config");
  if (settings != config.end() && !settings->is_null()) {
    std::string method = "so marked";
    if (settings->is_object() && settings->contains("quant_method") &&
        settings->at("quant_method").is_string()) {
      method = settings->at("quant_method").get<std::string>();
    }
    const auto known = std::ranges::find(kMethods, method, &FormatName::word);
    refuse_format(file.string() + ": quantization_config",
                  known == kMethods.end() ? std::string_view(method) : known->name);
  }
  const path older = folder / "quantize_config.json";
  if (std::filesystem::is_regular_file(older)) refuse_format(older.string(), "GPTQ or AWQ");
}

std::vector<path> indexed_files(const path& index) {
  const json parsed =
      parse_strict_json(planner::read_whole_file(index), index.string(), kConfigLevels);
  if (!parsed.is_object() || !parsed.contains("weight_map") ||
      !parsed.at("weight_map").is_object()) {
    throw BadRequest("model: " + index.string() + ": weight_map is missing");
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : parsed.at("weight_map").items()) {
    refuse_quantised_tensor(index.string(), tensor);
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || path(name).filename() != name || !name.ends_with(".safetensors")) {
      throw BadRequest("model: " + index.string() + ": tensor " + tensor + ": " + file.dump() +
                       " is not the name of a safetensors file in this folder");
    }
    names.insert(name);
  }
  std::vector<path> files;
  for (const std::string& name : names) {
    files.push_back(index.parent_path() / name);
    if (!std::filesystem::is_regular_file(files.back())) {
      throw BadRequest("model: " + files.back().string() + " is missing, and " +
                       index.filename().string() + " names it: download the folder again");
    }
  }
  if (files.empty()) throw BadRequest("model: " + index.string() + ": weight_map is empty");
  return files;
}

/// Refuses weights in other formats: a folder without model.safetensors may hold such, which a
/// random start must not hide.
void refuse_other_formats(const path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  for (const std::string& name : names) {
    const std::string file = (folder / name).string();
    if (name == "adapter_model.safetensors" || name == "adapter_model.bin") {
      throw BadRequest("model: " + file + " is an adapter, not a model: merge it into its base");
    }
    if (name.ends_with(".gguf")) {
      throw BadRequest("model: " + file + ": GGUF is not supported: give the safetensors original");
    }
    if (name.ends_with(".safetensors")) {
      throw BadRequest("model: " + file + ": is neither model.safetensors nor named by a " +
                       "model.safetensors.index.json: rename it, or add the index");
    }
    for (const char* end : {".bin", ".pth", ".pt", ".ckpt", ".h5", ".msgpack"}) {
      if (name.ends_with(end) && name != "training_args.bin") {
        throw BadRequest("model: " + file + ": only safetensors weights are read: convert it " +
                         "(transformers: save_pretrained)");
      }
    }
  }
}

}  // namespace

std::optional<path> find_model_folder(const std::string& model) {
  const auto& known = planner::catalogue_models();
  if (std::ranges::find(known, model, &planner::CatalogueModel::name) != known.end()) {
    return std::nullopt;
  }
  if (std::filesystem::is_directory(model)) return path(model);
  if (std::filesystem::exists(model) || std::ranges::count(model, '/') != 1) return std::nullopt;
  if (const auto config = planner::cached_config(model)) return config->parent_path();
  return std::nullopt;
}

std::vector<path> weight_files(const path& folder) {
  std::vector<path> files;
  if (const path single = folder / "model.safetensors"; std::filesystem::exists(single)) {
    files.push_back(single);
  } else if (const path index = folder / "model.safetensors.index.json";
             std::filesystem::exists(index)) {
    files = indexed_files(index);
  } else {
    refuse_other_formats(folder);
    return files;
  }
  refuse_quantised_folder(folder);
  return files;
}

void refuse_quantised_tensor(const std::string& where, const std::string& tensor) {
  for (const FormatName& known : kTensorEnds) {
    if (tensor.ends_with(known.word)) refuse_format(where + ": tensor " + tensor, known.name);
  }
}

}  // namespace sluice::engine
