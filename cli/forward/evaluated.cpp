#include "cli/forward/evaluated.hpp"

#include <algorithm>

#include "cli/shown/amount_bar.hpp"
#include "engine/datasets/open_text.hpp"
#include "engine/model_files/mapped_file.hpp"
#include "engine/rows/byte_stream.hpp"
#include "engine/rows/file_form.hpp"
#include "planner/runs/data_file.hpp"
#include "profiler/training/train_state.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

constexpr std::int64_t kUsualSeqLen = 1024;
constexpr std::int64_t kUsualBatch = 8;

EvaluatedText read_text(ForwardSubject& subject, const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) {
    throw BadRequest("data: there is no file " + file.string() + " (give the path of a text file)");
  }
  const engine::MappedFile mapped(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                              mapped.bytes().size());
  EvaluatedText read{.tokens = {}, .bytes = std::ssize(text)};
  if (const auto tokenizer = subject.open_tokenizer()) {
    using Special = engine::Tokenizer::SpecialTokens;
    try {
      read.tokens = tokenizer->encode(
          text, subject.request().has("--special-tokens") ? Special::around : Special::none);
    } catch (const BadRequest& error) {
      throw BadRequest("data: " + file.string() + ": " + error.what());
    }
  } else {
    read.tokens.reserve(text.size());
    for (const char each : text) read.tokens.push_back(static_cast<unsigned char>(each));
  }
  if (read.tokens.size() < 2) {
    throw BadRequest("data: " + file.string() +
                     " holds fewer than two tokens: there is nothing to predict");
  }
  return read;
}

std::int64_t stride_of(const planner::RunArguments& request, std::int64_t seq_len) {
  const auto given = request.value("--stride");
  if (!given) return seq_len;
  const std::int64_t stride = planner::parse_count(*given, "--stride");
  if (stride < 1 || stride > seq_len) {
    throw BadRequest("--stride: " + *given + " must be between 1 and seq_len (" +
                     std::to_string(seq_len) + ")");
  }
  return stride;
}

/// Whether `data` holds rows or token ids, lies in several files or a packed one, or is a name that
/// stands for one of these, rather than one plain text.
bool is_dataset(const planner::RunConfig& config) {
  using planner::DataFormat;
  const planner::DataEntry& first = config.data.front();
  const bool plain = config.data.size() == 1 && is_plain(first) && !config.max_samples &&
                     config.columns.empty() && !config.dataset_dir;
  if (!plain || !std::filesystem::is_regular_file(first.name)) return true;
  if (engine::has_token_ids(config)) return true;
  if (engine::packed_form(first.name) != engine::Packed::no) return true;
  if (config.data_format == DataFormat::bytes) return false;
  if (config.data_format != DataFormat::automatic) return config.data_format != DataFormat::text;
  return engine::file_form(first.name) != engine::FileForm::text;
}

}  // namespace

Evaluated open_evaluated(ForwardSubject& subject) {
  planner::RunConfig& config = subject.config();
  config.groups = config.devices = 1;  // Nothing adds up gradients.
  Evaluated opened;
  if (is_dataset(config)) {
    if (subject.request().has("--stride")) {
      throw BadRequest(
          "--stride: applies to a single text; packing sets the sequences of a data set");
    }
    if (config.seq_len == 0) config.seq_len = kUsualSeqLen;
    opened.stride = config.seq_len;
    opened.dataset =
        profiler::text_of(subject.data_config(), amount_shown("cutting text into tokens"));
    if (const auto chat = opened.dataset->chat()) subject.tell_of_template(chat->sources);
    opened.windows = std::make_unique<engine::DatasetWindows>(*opened.dataset);
    opened.tokens = opened.dataset->tokens();
    opened.vocabulary = opened.dataset->vocabulary();
  } else {
    config.packing = planner::Packing::stream;  // A text is one document.
    opened.text = read_text(subject, planner::only_data(config));
    opened.tokens = std::ssize(opened.text.tokens);
    opened.vocabulary = *std::ranges::max_element(opened.text.tokens) + 1;
    if (config.seq_len == 0) config.seq_len = std::min(kUsualSeqLen, opened.tokens - 1);
    opened.stride = stride_of(subject.request(), config.seq_len);
    opened.windows =
        std::make_unique<engine::TextWindows>(opened.text.tokens, config.seq_len, opened.stride);
  }
  if (config.batch_size == 0) {
    const std::int64_t most = std::min(kUsualBatch, opened.windows->count());
    config.batch_size =
        std::max(config.micro_batch, most / config.micro_batch * config.micro_batch);
  }
  return opened;
}

}  // namespace sluice::cli
