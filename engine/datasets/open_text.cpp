#include "engine/datasets/open_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/datasets/claimed_tokens.hpp"
#include "engine/datasets/data_set.hpp"
#include "engine/datasets/document_text.hpp"
#include "engine/datasets/plain_text_file.hpp"
#include "engine/datasets/token_file.hpp"
#include "engine/datasets/token_ids.hpp"
#include "engine/datasets/token_text.hpp"
#include "engine/datasets/usable_tokenizer.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "planner/runs/refusal.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

using planner::DataFormat;
using planner::Packing;
using std::filesystem::path;

bool asks_for_documents(const planner::RunConfig& run) {
  return run.packing == Packing::documents || run.packing == Packing::off;
}

/// Refuses what makes no sense for one text.
void require_stream(const planner::RunConfig& run, const DocumentRows& text) {
  if (asks_for_documents(run)) {
    throw BadRequest(std::string("packing: ") + to_string(run.packing) + " needs documents, and " +
                     text.name + " is one text: leave packing out, or give JSONL examples");
  }
  if (text.max_samples) {
    throw BadRequest("max_samples: counts rows, and " + text.name +
                     " is one text: data_format=jsonl reads each of its lines as a row");
  }
}

/// Whether the run says that byte values are its tokens.
bool asks_for_bytes(const planner::RunConfig& run) {
  return std::ranges::any_of(data_sets(run), [](const planner::DataEntry& each) {
    return each.format == DataFormat::bytes;
  });
}

std::vector<DocumentRows> find_sets(const planner::RunConfig& run) {
  if (run.data.empty()) throw BadRequest("data is missing: give --data FILE");
  std::vector<DocumentRows> sets;
  std::vector<planner::Refusal> refusals;
  for (const planner::DataEntry& entry : data_sets(run)) {
    try {
      sets.push_back(find_data_set(entry, run.dataset_dir));
      sets.back().strict = run.strict;
      sets.back().reading = run.data_reading.value_or(planner::DataReading::present);
    } catch (const BadRequest& error) {
      refusals.push_back({"data", error.what()});
    }
  }
  planner::throw_if_any(refusals);
  const auto text = std::ranges::find(sets, DataFormat::text,
                                      [](const DocumentRows& set) { return set.format.kind; });
  const bool alone = sets.size() == 1 && sets.front().weight == 1;
  if (text != sets.end() && !alone) {
    throw BadRequest("data: " + text->name +
                     " is one text, and several or weighted data sets are made of rows: give it "
                     "format: jsonl to read each of its lines as a row");
  }
  return sets;
}

std::unique_ptr<WindowedText> open_bytes(const planner::RunConfig& run,
                                         const std::vector<DocumentRows>& sets, const path& cache) {
  const DocumentRows& text = sets.front();
  if (text.format.kind != DataFormat::text || asks_for_documents(run)) {
    throw BadRequest("data: examples are cut by the tokenizer.json of the model's folder, and " +
                     run.model + " has none: give a model folder, or data_format=text");
  }
  require_stream(run, text);
  return std::make_unique<ByteText>(plain_text_file(text.files, cache), run.seq_len, run.seed,
                                    text.name);
}

/// Whether an entry of `data` is token ids: by its format, or without one by its name or bytes.
bool is_token_ids(const planner::DataEntry& entry) {
  const DataFormat format = entry.format.value_or(DataFormat::automatic);
  const bool npy = entry.name.extension() == ".npy" || begins_as_npy(entry.name);
  return format == DataFormat::tokens || (format == DataFormat::automatic && npy);
}

TokenIds::Files find_ids(const planner::DataEntry& entry, const planner::RunConfig& run) {
  const std::string name = entry.name.string();
  if (!is_token_ids(entry)) {
    throw BadRequest("data: " + name + " is not said to be token ids, and " + names_of(run.data) +
                     " hold some: say format: tokens, or train them apart");
  }
  if (entry.weight || !entry.columns.empty() || !entry.roles.empty()) {
    throw BadRequest("data: " + name +
                     " is token ids, which have no weight, columns or roles: leave them out");
  }
  const auto found = find_data_files(entry.name, {.split = entry.split, .subset = entry.subset},
                                     DataNames::token_ids);
  const bool narrow = run.data_dtype == planner::TokenType::uint16;
  TokenIds::Files files{.ids = found ? found->files.front() : entry.name,
                        .mask = run.data_mask,
                        .raw_type = narrow ? IntegerType::uint16 : IntegerType::uint32,
                        .max_rows = entry.max_samples};
  if (found) files.further.assign(found->files.begin() + 1, found->files.end());
  return files;
}

std::unique_ptr<WindowedText> open_ids(const planner::RunConfig& run,
                                       const TextProgress& progress) {
  std::vector<TokenIds::Files> sets;
  for (const planner::DataEntry& entry : data_sets(run)) sets.push_back(find_ids(entry, run));
  auto ids = std::make_unique<TokenIds>(sets, run.packing, run.seq_len, run.seed, progress);
  const auto left_out = ids->rows_left_out();
  if (!run.strict || !left_out) return ids;
  throw BadRequest("data: strict: " + std::to_string(left_out->rows) +
                   " rows would be left out: " + left_out->first + ": " + left_out->reason);
}

/// Warns of completions that end without a token that ends them.
void warn_of_no_end(const std::vector<DocumentRows>& sets, const path& folder) {
  for (const DocumentRows& set : sets) {
    if (set.format.kind != DataFormat::prompt_completion || set.format.lists) continue;
    sim::warn("data: " + set.name + ": completions end without a token that ends them, for " +
              (folder / "tokenizer_config.json").string() +
              " names no eos_token: the model will not learn to stop");
    return;
  }
}

void require_no_mask(const planner::RunConfig& run) {
  if (!run.data_mask) return;
  throw BadRequest("data_mask: is for token ids, and " + names_of(run.data) +
                   " is none: say data_format=tokens, or leave it out");
}

/// The template of a run's conversations. Throws what is wrong with it, and with the tokenizer
/// beside it.
ChatTemplate require_template(const planner::RunConfig& run, const TokenizerFolder& tokenizer) {
  try {
    return chat_template_of(tokenizer.folder, run.chat_template, run.date_string, run.data_reading);
  } catch (const BadRequest& fault) {
    try {
      (void)tokenizer.load();
    } catch (const BadRequest& other) {
      throw BadRequest(std::string(fault.what()) + "; and " + other.what());
    }
    throw;
  }
}

}  // namespace

bool has_token_ids(const planner::RunConfig& run) {
  return std::ranges::any_of(data_sets(run), is_token_ids);
}

void fix_date(planner::RunConfig& run) {
  if (run.date_string || run.model.empty() || has_token_ids(run)) return;
  const auto folder = find_tokenizer_place(run.model).folder;
  if (!folder || !asks_for_today(*folder, run.chat_template)) return;
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day date(today);
  const auto day = static_cast<unsigned>(date.day());
  run.date_string = (day < 10 ? "0" : "") + std::to_string(day) + " " +
                    kMonths[static_cast<unsigned>(date.month()) - 1] + " " +
                    std::to_string(static_cast<int>(date.year()));
}

std::unique_ptr<WindowedText> open_text(const planner::RunConfig& run, const path& cache,
                                        const TextProgress& progress) {
  if (has_token_ids(run)) return open_ids(run, progress);
  require_no_mask(run);
  std::vector<DocumentRows> sets = find_sets(run);
  if (asks_for_bytes(run)) return open_bytes(run, sets, cache);
  const TokenizerPlace place = find_tokenizer_place(run.model);
  const auto tokenizer = usable_tokenizer(place, run.data_reading);
  if (!tokenizer) return open_bytes(run, sets, cache);
  const path& folder = tokenizer->folder;
  if (sets.front().format.kind == DataFormat::text) {
    require_stream(run, sets.front());
    require_claims(run.tokenizer_claims, *tokenizer, nullptr, true);
    return std::make_unique<TokenText>(
        TokenText::Files{.text = plain_text_file(sets.front().files, cache),
                         .tokenizer = *tokenizer,
                         .cache = cache,
                         .name = sets.front().name},
        run.seq_len, run.seed, progress);
  }
  DocumentText::Source source{.sets = std::move(sets),
                              .tokens = {.tokenizer = *tokenizer},
                              .mixture = run.mixture,
                              .cache = cache};
  bool templated = false, all_texts = true, texts = false;
  for (const DocumentRows& set : source.sets) {
    templated = templated || set.format.conversations();
    texts = texts || !set.format.conversations();
    all_texts = all_texts && set.format.kind == DataFormat::jsonl;
  }
  if (templated) {
    source.tokens.chat = require_template(run, *tokenizer);
  }
  require_claims(run.tokenizer_claims, *tokenizer, templated ? &source.tokens.chat : nullptr,
                 texts);
  source.tokens.end_of_text = special_token_names(folder).eos;
  if (!source.tokens.end_of_text) warn_of_no_end(source.sets, folder);
  const Packing usual = all_texts ? Packing::stream : Packing::off;
  return std::make_unique<DocumentText>(std::move(source),
                                        run.packing == Packing::automatic ? usual : run.packing,
                                        run.seq_len, run.seed, progress);
}

}  // namespace sluice::engine
