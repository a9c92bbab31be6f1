#include "engine/datasets/open_text.hpp"

#include <nlohmann/json.hpp>

#include "engine/datasets/dataset_info.hpp"
#include "engine/datasets/document_text.hpp"
#include "engine/datasets/example_file.hpp"
#include "engine/datasets/token_text.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "planner/runs/data_file.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using planner::DataFormat;
using planner::Packing;
using std::filesystem::path;

const json* first_of_list(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_array() || found->empty()) return nullptr;
  return found->front().is_object() ? &found->front() : nullptr;
}

/// Format that an example appears to have, if any.
std::optional<ExampleFormat> looks_like(const json& object) {
  for (const char* field : {"messages", "conversations"}) {
    const json* message = first_of_list(object, field);
    if (message == nullptr) continue;
    const bool openai = message->contains("role");
    ExampleFormat format = example_format(openai ? DataFormat::messages : DataFormat::sharegpt);
    format.messages = field;
    return format;
  }
  if (object.contains("instruction") && object.contains("output")) {
    return example_format(DataFormat::alpaca);
  }
  if (object.contains("text")) return example_format(DataFormat::jsonl);
  return std::nullopt;
}

ExampleFormat guessed_format(const path& file) {
  ExampleFormat text = example_format(DataFormat::text);
  const std::string extension = file.extension().string();
  if (extension != ".jsonl" && extension != ".json" && extension != ".ndjson") return text;
  std::optional<ExampleFormat> found;
  read_examples(file, [&](const json& object, const std::string&) {
    found = looks_like(object);
    return Reading::stops;
  });
  if (found) return *found;
  sim::warn(file.string() +
            ": its first example has none of text, messages, conversations, or instruction and "
            "output: it is read as plain text (state data_format, or its columns in a "
            "dataset_info.json)");
  return text;
}

ExampleFormat format_of(const Dataset& dataset, DataFormat given) {
  if (dataset.format && (given == DataFormat::automatic || given == dataset.format->kind)) {
    return *dataset.format;
  }
  if (given != DataFormat::automatic) return example_format(given);
  return guessed_format(dataset.file);
}

bool asks_for_documents(const planner::RunConfig& run) {
  return run.packing == Packing::documents || run.packing == Packing::off;
}

void require_stream(const planner::RunConfig& run) {
  if (!asks_for_documents(run)) return;
  throw BadRequest(std::string("packing: ") + to_string(run.packing) + " needs documents, and " +
                   run.data->string() + " is one text: leave packing out, or give JSONL examples");
}

/// Refuses to take byte values for tokens of a model whose weights were trained on other tokens.
void refuse_guessed_bytes(const planner::RunConfig& run, const TokenizerPlace& place) {
  if (place.bytes || run.data_format == DataFormat::bytes) return;
  throw BadRequest("model: " + place.folder.value_or(run.model).string() +
                   " has weights and no tokenizer.json: put the tokenizer's files there, or state "
                   "data_format=bytes to take byte values as tokens");
}

std::unique_ptr<WindowedText> open_bytes(const planner::RunConfig& run, const Dataset& dataset) {
  const bool plain = run.data_format == DataFormat::text || run.data_format == DataFormat::bytes;
  const bool examples = run.data_format != DataFormat::automatic
                            ? !plain
                            : dataset.format.has_value() || asks_for_documents(run);
  if (examples) {
    throw BadRequest("data: examples are cut by the tokenizer.json of the model's folder, and " +
                     run.model + " has none: give a model folder, or data_format=text");
  }
  require_stream(run);
  return std::make_unique<ByteText>(dataset.file, run.seq_len, run.seed);
}

}  // namespace

std::unique_ptr<WindowedText> open_text(const planner::RunConfig& run, const path& cache,
                                        const TextProgress& progress) {
  const Dataset dataset = find_dataset(run.data.value(), run.dataset_dir);
  const TokenizerPlace place = find_tokenizer_place(run.model);
  const auto& folder = place.folder;
  const bool tokens = folder && std::filesystem::exists(*folder / "tokenizer.json");
  if (!tokens || run.data_format == DataFormat::bytes) {
    refuse_guessed_bytes(run, place);
    return open_bytes(run, dataset);
  }
  const path tokenizer = *folder / "tokenizer.json";
  planner::require_data_file(dataset.file);
  if (!std::filesystem::is_regular_file(dataset.file)) {
    throw BadRequest("data: there is no file " + dataset.file.string() +
                     " (give the path of a text or JSONL file, or a name in a dataset_info.json)");
  }
  const ExampleFormat format = format_of(dataset, run.data_format);
  if (format.kind == DataFormat::text) {
    require_stream(run);
    return std::make_unique<TokenText>(
        TokenText::Files{.text = dataset.file, .tokenizer = tokenizer, .cache = cache}, run.seq_len,
        run.seed, progress);
  }
  DocumentText::Source source{
      .examples = dataset.file, .format = format, .tokenizer = tokenizer, .cache = cache};
  if (format.conversations()) {
    source.chat = chat_template_of(*folder, run.chat_template, run.date_string);
  } else {
    source.end_of_text = special_token_names(*folder).eos;
  }
  const Packing usual = format.conversations() ? Packing::off : Packing::stream;
  return std::make_unique<DocumentText>(source,
                                        run.packing == Packing::automatic ? usual : run.packing,
                                        run.seq_len, run.seed, progress);
}

}  // namespace sluice::engine
