#include "engine/model_files/model_weights.hpp"

#include <algorithm>

#include "engine/model_files/model_folder.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

[[noreturn]] void refuse(const SafetensorsFile& file, const std::string& tensor,
                         const std::string& reason) {
  throw BadRequest("model: " + file.path().string() + ": tensor " + tensor + ": " + reason);
}

constexpr const char* kHead = "lm_head.weight";

/// Whether two tensors hold the same numbers, be it in other types. Pages leave memory as they were
/// read.
bool equal_tensors(const TensorPlace& one, const TensorPlace& other) {
  if (one.entry->shape != other.entry->shape) return false;
  constexpr std::int64_t kPart = std::int64_t{1} << 20;
  std::vector<float> numbers[2];
  for (std::int64_t first = 0; first < one.entry->elements(); first += kPart) {
    const auto count = static_cast<std::size_t>(std::min(kPart, one.entry->elements() - first));
    std::size_t i = 0;
    for (const TensorPlace* place : {&one, &other}) {
      const std::size_t element = size_of(*place->entry->type);
      const auto bytes = place->file->bytes(*place->entry)
                             .subspan(static_cast<std::size_t>(first) * element, count * element);
      numbers[i].resize(count);
      decode(*place->entry->type, bytes.data(), numbers[i++]);
      place->file->file().release(bytes);
    }
    if (numbers[0] != numbers[1]) return false;
  }
  return true;
}

}  // namespace

void require_readable_weights(const std::string& model, const planner::ModelShape& shape) {
  require_weights_of_id(model);
  const auto folder = find_model_folder(model);
  if (!folder) return;
  const auto files = weight_files(std::filesystem::absolute(*folder));
  if (!files.empty()) (void)ModelWeights(files, shape);
}

bool left_unread(const std::string& name, const planner::ModelShape& shape) {
  return name.ends_with(".rotary_emb.inv_freq") || (shape.tied_head && name == "lm_head.weight");
}

std::set<std::string> tensor_names(const planner::ModelShape& shape) {
  std::set<std::string> names;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      names.insert(tensor.name);
    }
  }
  return names;
}

ModelWeights::ModelWeights(const std::vector<std::filesystem::path>& files,
                           const planner::ModelShape& shape) {
  check(!files.empty(), "weights lie in files");
  for (const std::filesystem::path& file : files) {
    files_.push_back(std::make_unique<SafetensorsFile>(file));
    collect(*files_.back(), shape);
  }
  unstack_experts(places_, shape);
  const std::set<std::string> wanted = tensor_names(shape);
  for (const auto& [name, place] : places_) {
    if (!wanted.contains(name)) {
      refuse(*place.file, name,
             std::string("is no part of the ") + to_string(shape.family) +
                 " model that config.json describes");
    }
  }
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      require(tensor);
    }
  }
}

void ModelWeights::collect(const SafetensorsFile& file, const planner::ModelShape& shape) {
  for (const auto& [name, entry] : file.header().tensors) {
    refuse_quantised_tensor(file.path().string(), name);
    if (left_unread(name, shape)) {
      if (name == kHead) tied_head_ = {.file = &file, .entry = &entry};
      continue;
    }
    if (const auto [other, fresh] =
            places_.emplace(name, TensorPlace{.file = &file, .entry = &entry});
        !fresh) {
      refuse(file, name, "is in " + other->second.file->path().filename().string() + " too");
    }
  }
}

void ModelWeights::require(const planner::TensorSpec& tensor) {
  const auto found = places_.find(tensor.name);
  if (found == places_.end()) {
    throw BadRequest("model: " + files_.front()->path().parent_path().string() + ": tensor " +
                     tensor.name + " is missing" +
                     (tensor.name == "lm_head.weight"
                          ? " (config.json does not say tie_word_embeddings: true)"
                          : ""));
  }
  const TensorPlace& place = found->second;
  const TensorEntry& entry = *place.entry;
  if (!entry.type) {
    const bool fp8 = entry.dtype.starts_with("F8") || entry.dtype.starts_with("F4");
    refuse(*place.file, tensor.name,
           "dtype " + entry.dtype +
               (fp8 ? " is a quantised format, which is not supported" : " is not supported") +
               ": give BF16, F16 or F32");
  }
  std::vector<std::int64_t> shape = {tensor.cols};
  if (tensor.rows > 1 || tensor.decays) shape.insert(shape.begin(), tensor.rows);
  if (!place.part && entry.shape != shape) {
    refuse(
        *place.file, tensor.name,
        "has shape " + shape_text(entry.shape) + ", and config.json makes it " + shape_text(shape));
  }
  bytes_ += Bytes(tensor.size() * static_cast<std::int64_t>(size_of(*entry.type)));
  types_.insert(*entry.type);
}

std::optional<std::string> ModelWeights::unused_head() const {
  const auto embedding = places_.find("model.embed_tokens.weight");
  if (tied_head_.file == nullptr || !tied_head_.entry->type || embedding == places_.end() ||
      equal_tensors(tied_head_, embedding->second)) {
    return std::nullopt;
  }
  return "model: " + tied_head_.file->path().string() + ": " + kHead +
         " differs from the embedding, and config.json ties the two (tie_word_embeddings): it is "
         "not used; say \"tie_word_embeddings\": false there to use it";
}

void ModelWeights::read(StatePart part, std::size_t /*unit*/, const planner::TensorSpec& tensor,
                        std::int64_t first, std::span<float> out) const {
  check(part == StatePart::weights, "a model folder holds weights alone");
  const TensorPlace& place = places_.at(tensor.name);
  if (place.col_step != 1) {
    read_columns(place, tensor.cols, first, out);
  } else {
    const std::size_t element = size_of(*place.entry->type);
    const auto bytes =
        place.file->bytes(*place.entry)
            .subspan(static_cast<std::size_t>(place.first + first) * element, out.size() * element);
    decode(*place.entry->type, bytes.data(), out);
    place.file->file().release(bytes);
  }
  if (const auto index = first_not_finite(out)) {
    refuse(*place.file, tensor.name,
           "element " + std::to_string(first + static_cast<std::int64_t>(*index)) +
               " is not a finite number");
  }
}

void ModelWeights::read_columns(const TensorPlace& place, std::int64_t cols, std::int64_t first,
                                std::span<float> out) const {
  const std::size_t element = size_of(*place.entry->type);
  const std::byte* all = place.file->bytes(*place.entry).data();
  const std::int64_t last = first + std::ssize(out);
  std::vector<float> column;
  for (std::int64_t col = 0; col < cols; ++col) {
    // Rows r with first <= r cols + col < last.
    const std::int64_t begin = (std::max(first - col, std::int64_t{0}) + cols - 1) / cols;
    const std::int64_t end = (std::max(last - col, std::int64_t{0}) + cols - 1) / cols;
    if (begin >= end) continue;
    column.resize(static_cast<std::size_t>(end - begin));
    const std::int64_t at = place.first + begin + col * place.col_step;
    decode(*place.entry->type, all + static_cast<std::size_t>(at) * element, column);
    for (std::int64_t row = begin; row < end; ++row) {
      out[static_cast<std::size_t>(row * cols + col - first)] =
          column[static_cast<std::size_t>(row - begin)];
    }
  }
}

}  // namespace sluice::engine
