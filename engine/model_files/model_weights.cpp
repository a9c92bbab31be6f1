#include "engine/model_files/model_weights.hpp"

#include <algorithm>

#include "engine/model_files/carried_record.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/published_tensors.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::engine {
namespace {

[[noreturn]] void refuse(const StoredTensor& stored, const std::string& tensor,
                         const std::string& reason) {
  throw BadRequest("model: " + stored.file->path().string() + ": tensor " + tensor + ": " + reason);
}

constexpr const char* kHead = "lm_head.weight";

/// Whether two tensors hold the same numbers, be it in other types. Pages leave memory as they were
/// read.
bool equal_tensors(const StoredTensor& one, const StoredTensor& other) {
  if (one.shape != other.shape) return false;
  constexpr std::int64_t kPart = std::int64_t{1} << 20;
  std::vector<float> numbers[2];
  for (std::int64_t first = 0; first < one.elements(); first += kPart) {
    const auto count = static_cast<std::size_t>(std::min(kPart, one.elements() - first));
    std::size_t i = 0;
    for (const StoredTensor* tensor : {&one, &other}) {
      numbers[i].resize(count);
      tensor->decode(first, numbers[i++]);
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
                           const planner::ModelShape& shape, LeavesOut lacks)
    : tensors_(open_tensors(files, shape)), places_(find_places(tensors_, shape)) {
  const std::set<std::string> wanted = tensor_names(shape);
  for (const auto& [name, place] : places_) {
    if (!wanted.contains(name)) {
      refuse(place.stored, place.stored.name,
             std::string("is no part of the ") + to_string(shape.family) +
                 " model that config.json describes");
    }
  }
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      if (lacks != nullptr && lacks(shape, unit, tensor)) continue;
      require(tensor);
    }
  }
}

void ModelWeights::require(const planner::TensorSpec& tensor) {
  const auto found = places_.find(tensor.name);
  if (found == places_.end()) {
    throw BadRequest(
        "model: " + tensors_.files.front()->path().parent_path().string() + ": tensor " +
        checkpoint_name_of(tensors_.form, tensor.name) + " is missing" +
        (tensor.name == kHead ? " (config.json does not say tie_word_embeddings: true)" : ""));
  }
  const TensorPlace& place = found->second;
  const StoredTensor& stored = place.stored;
  if (stored.encoding == Encoding::plain && !stored.entry->type) {
    const std::string& dtype = stored.entry->dtype;
    const bool quantised = dtype.starts_with("F8") || dtype.starts_with("F4");
    refuse(
        stored, stored.name,
        "dtype " + dtype +
            (quantised ? " is a quantised format, which is not supported" : " is not supported") +
            ": give BF16, F16 or F32");
  }
  if (!place.part && stored.shape != own_shape(tensor)) {
    refuse(stored, stored.name,
           "has shape " + shape_text(stored.shape) + ", and config.json makes it " +
               shape_text(own_shape(tensor)));
  }
  if (stored.encoding == Encoding::plain) {
    bytes_ += Bytes(tensor.size() * static_cast<std::int64_t>(size_of(*stored.entry->type)));
  } else {  // A part's share of numbers and scales.
    const auto share = static_cast<double>(tensor.size()) / static_cast<double>(stored.elements());
    bytes_ += Bytes(static_cast<std::int64_t>(static_cast<double>(stored.bytes().count()) * share));
  }
  types_.insert(encoding_text(stored.encoding, *stored.entry));
}

std::optional<std::string> ModelWeights::unused_head() const {
  const auto embedding = places_.find("model.embed_tokens.weight");
  const auto& head = tensors_.tied_head;
  if (!head || !head->entry->type || embedding == places_.end() ||
      equal_tensors(*head, embedding->second.stored)) {
    return std::nullopt;
  }
  return "model: " + head->file->path().string() + ": " + kHead +
         " differs from the embedding, and config.json ties the two (tie_word_embeddings): it is "
         "not used; say \"tie_word_embeddings\": false there to use it";
}

std::optional<std::string> ModelWeights::not_trained() const {
  if (tensors_.carried.empty()) return std::nullopt;
  std::string text;
  for (const std::string& part : parts_of(tensors_.carried))
    text += (text.empty() ? "" : ", ") + part;
  return "model: " + std::to_string(tensors_.carried.size()) + " tensors (" +
         planner::format_bytes(size_carried(tensors_.carried).bytes) + ": " + text +
         ") are no part of the text model: they are not trained, and sluice export copies them "
         "unchanged";
}

void ModelWeights::read(StatePart part, std::size_t /*unit*/, const planner::TensorSpec& tensor,
                        std::int64_t first, std::span<float> out) const {
  check(part == StatePart::weights, "a model folder holds weights alone");
  const TensorPlace& place = places_.at(tensor.name);
  read_mapped(place.stored, place.map, memory_sizes(tensor), first, out);
  if (const auto index = first_not_finite(out)) {
    refuse(place.stored, tensor.name,
           "element " + std::to_string(first + static_cast<std::int64_t>(*index)) +
               " is not a finite number");
  }
}

}  // namespace sluice::engine
