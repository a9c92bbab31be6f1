#include "engine/model_files/model_folder.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/model_files/adapter_folder.hpp"
#include "engine/model_files/strict_json.hpp"
#include "engine/model_files/weights_config.hpp"
#include "planner/catalogue/hugging_face_cache.hpp"
#include "planner/catalogue/model_source.hpp"
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
                                 FormatName{"fbgemm_fp8", "FP8 (FBGEMM)"},
                                 FormatName{"bitsandbytes", "bitsandbytes"},
                                 FormatName{"compressed-tensors", "compressed-tensors"},
                                 FormatName{"hqq", "HQQ"},
                                 FormatName{"aqlm", "AQLM"}};
constexpr std::array kTensorEnds = {FormatName{".g_idx", "GPTQ"},
                                    FormatName{".qweight", "GPTQ or AWQ"},
                                    FormatName{".qzeros", "GPTQ or AWQ"},
                                    FormatName{".weight_scale", "FP8"},
                                    FormatName{".weight_packed", "compressed-tensors"},
                                    FormatName{".weight.absmax", "bitsandbytes"},
                                    FormatName{".weight.quant_map", "bitsandbytes"}};

[[noreturn]] void refuse_format(const std::string& where, std::string_view name) {
  throw BadRequest("model: " + where + ": " + std::string(name) +
                   " weights are quantised, which is not supported" + kFix);
}

/// Refuses a folder whose config.json, or the older quantize_config.json beside it, states a
/// quantisation that cannot be read.
void refuse_quantised_folder(const path& folder) {
  const auto method = read_weights_config(folder).quantisation;
  if (method && *method != "mxfp4" && *method != "fp8") {
    const auto known = std::ranges::find(kMethods, *method, &FormatName::word);
    refuse_format((folder / "config.json").string() + ": quantization_config",
                  known != kMethods.end() ? known->name
                  : method->empty()       ? std::string_view("so marked")
                                          : std::string_view(*method));
  }
  const path older = folder / "quantize_config.json";
  if (std::filesystem::is_regular_file(older)) refuse_format(older.string(), "GPTQ or AWQ");
}

/// Whether `file` is a link to a file that is not there, as a download that was stopped leaves it.
bool dangles(const path& file) {
  return std::filesystem::is_symlink(file) && !std::filesystem::exists(file);
}

[[noreturn]] void refuse_missing(const path& file, const std::string& why) {
  throw BadRequest("model: " + file.string() +
                   (dangles(file) ? " is a link to a file that is not there" : " is missing") +
                   why + ": " + planner::download_advice(file.parent_path()));
}

/// A file that a download has begun in `folder`; none where no download is under way or was
/// stopped.
std::optional<path> unfinished_download(const path& folder) {
  for (const path& place :
       {folder / ".cache/huggingface/download", folder / "../../blobs", folder}) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(place, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".incomplete") return entry->path().lexically_normal();
    }
  }
  return std::nullopt;
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
      refuse_missing(files.back(), ", and " + index.filename().string() + " names it");
    }
  }
  if (files.empty()) throw BadRequest("model: " + index.string() + ": weight_map is empty");
  return files;
}

/// The command that writes a folder of pickles again as safetensors.
std::string conversion_of(const path& folder) {
  return "python3 -c \"import transformers as t; t.AutoModelForCausalLM.from_pretrained('" +
         folder.string() + "', torch_dtype='auto').save_pretrained('" + folder.string() +
         "-safetensors')\", and copy the tokenizer's files";
}

/// Reason why a file with another name than that of a model's weights cannot be read, and the fix;
/// none for files that hold no weights.
std::optional<std::string> fault_of_other_format(const path& folder, const std::string& name) {
  if (name == "adapter_model.safetensors" || name == "adapter_model.bin") {
    return " is of an adapter, not a model: " + adapter_advice(folder);
  }
  if (name.ends_with(".gguf")) return ": GGUF is not supported: give the safetensors original";
  if (name.starts_with("consolidated") && name.ends_with(".safetensors")) {
    return ": its tensors have the original names, which are not read: give the folder that "
           "transformers reads (model.safetensors)";
  }
  if (name.starts_with("model-") && name.ends_with(".safetensors")) {
    return ": is a part, and model.safetensors.index.json, which lists the parts, is not there: " +
           planner::download_advice(folder);
  }
  if (name.ends_with(".safetensors")) {
    return ": is neither model.safetensors nor named by a model.safetensors.index.json: rename it, "
           "or add the index";
  }
  for (const char* end : {".bin", ".pth", ".pt", ".ckpt", ".h5", ".msgpack"}) {
    const bool trainers = name == "training_args.bin" || name == "optimizer.pt" ||
                          name == "scheduler.pt" || name.starts_with("rng_state");
    if (!name.ends_with(end) || trainers) continue;
    return ": only safetensors weights are read: convert it: " + conversion_of(folder);
  }
  return std::nullopt;
}

std::set<std::string> names_in(const path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// Refuses weights in other formats: a folder without model.safetensors may hold such, which a
/// random start must not hide.
void refuse_other_formats(const path& folder) {
  for (const std::string& name : names_in(folder)) {
    if (const auto fault = fault_of_other_format(folder, name)) {
      throw BadRequest("model: " + (folder / name).string() + *fault);
    }
  }
}

}  // namespace

std::optional<path> find_model_folder(const std::string& model) {
  return planner::find_model_source(model).folder();
}

std::vector<path> weight_files(const path& folder) {
  const path single = folder / "model.safetensors";
  const path index = folder / "model.safetensors.index.json";
  std::vector<path> files;
  if (std::filesystem::exists(single)) {
    files.push_back(single);
  } else if (dangles(single)) {
    refuse_missing(single, "");
  } else if (std::filesystem::exists(index)) {
    files = indexed_files(index);
  } else if (dangles(index)) {
    refuse_missing(index, "");
  } else {
    refuse_other_formats(folder);
    if (const auto begun = unfinished_download(folder)) {
      throw BadRequest("model: the download of " + folder.string() + " did not end (" +
                       begun->string() + "): " + planner::download_advice(folder));
    }
    return files;
  }
  refuse_quantised_folder(folder);
  return files;
}

bool claims_weights(const path& folder) {
  for (const std::string& name : names_in(folder)) {
    if (name == "model.safetensors" || name == "model.safetensors.index.json") return true;
    if (fault_of_other_format(folder, name)) return true;
  }
  return false;
}

void require_weights_of_id(const std::string& model) {
  using Kind = planner::ModelSource::Kind;
  const planner::ModelSource source = planner::find_model_source(model);
  if (source.kind == Kind::hub_name) {
    throw BadRequest("model: " + model + " is not in the Hugging Face cache: " +
                     planner::download_command(source.known->hf_id, std::nullopt) + " (or model: " +
                     source.known->name + " to begin with random weights of this shape)");
  }
  if (source.kind != Kind::snapshot) return;
  const path folder = source.config.parent_path();
  if (!weight_files(folder).empty()) return;
  std::string older;
  for (const auto& entry : std::filesystem::directory_iterator(folder.parent_path())) {
    const bool whole = std::filesystem::exists(entry.path() / "model.safetensors") ||
                       std::filesystem::exists(entry.path() / "model.safetensors.index.json");
    if (!whole) continue;
    older = "; another snapshot has weights: " + model.substr(0, model.find('@')) + "@" +
            entry.path().filename().string();
  }
  throw BadRequest("model: " + model + " is in the Hugging Face cache without weights: " +
                   planner::download_advice(folder) + older);
}

void refuse_quantised_tensor(const std::string& where, const std::string& tensor) {
  for (const FormatName& known : kTensorEnds) {
    if (tensor.ends_with(known.word)) refuse_format(where + ": tensor " + tensor, known.name);
  }
}

}  // namespace sluice::engine
