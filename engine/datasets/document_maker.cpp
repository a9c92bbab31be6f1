#include "engine/datasets/document_maker.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/datasets/doubtful_rows.hpp"
#include "engine/examples/example.hpp"
#include "engine/examples/unseen_columns.hpp"
#include "engine/model_files/written_file.hpp"
#include "engine/rows/row_file.hpp"
#include "planner/files/hash.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Version of what rows become: to be increased whenever equal files would give other tokens.
constexpr std::int64_t kDocumentVersion = 1;
/// Rows whose conversations are rendered at once.
constexpr std::size_t kRowsAtOnce = 256;

/// Ids that the tokenizer puts before every text.
std::vector<TokenId> ids_before(Tokenizer& tokenizer) {
  const std::vector<TokenId> plain = tokenizer.encode("a", Tokenizer::SpecialTokens::none);
  std::vector<TokenId> around = tokenizer.encode("a", Tokenizer::SpecialTokens::around);
  around.erase(std::search(around.begin(), around.end(), plain.begin(), plain.end()), around.end());
  return around;
}

/// Makes the tokens of examples and tells who adds them.
class DocumentMaker {
 public:
  /// `shown`: where the rows that are used go with their text; null for nowhere.
  DocumentMaker(const DocumentRows& rows, const DocumentTokens& tokens,
                const DocumentCache::AddDocument& add, std::vector<ShownRow>* shown = nullptr)
      : rows_(rows),
        tokens_(tokens),
        add_(add),
        tokenizer_(tokens.tokenizer.load()),
        bad_(rows.strict),
        unseen_(rows.format),
        shown_(shown) {
    if (tokens.end_of_text && !rows.format.conversations()) {
      end_ = tokenizer_.find(*tokens.end_of_text);
      if (!end_) {
        throw BadRequest(tokens.tokenizer.main_file().string() + ": has no token \"" +
                         *tokens.end_of_text + "\", the eos_token of tokenizer_config.json");
      }
    }
    if (rows.format.kind == planner::DataFormat::prompt_completion && !rows.format.lists) {
      before_ = ids_before(tokenizer_);
    }
  }

  RowCounts run(const TextProgress& progress) {
    std::int64_t all = 0;
    for (const auto& file : rows_.files.files) {
      all += static_cast<std::int64_t>(std::filesystem::file_size(file));
    }
    tell_ = [&progress, all](std::int64_t bytes) {
      if (progress) progress(std::min(bytes, all), all);
    };
    std::int64_t before = 0;
    for (const auto& file : rows_.files.files) {
      const std::int64_t first_row = counts_.read;
      read_file(file, [&](std::int64_t bytes) { done_ = before + bytes; });
      flush();
      // A beginning that is only shown is not judged: the whole file was.
      if (shown_ == nullptr) bad_.end_file(file.string(), counts_.read - first_row);
      before += static_cast<std::int64_t>(std::filesystem::file_size(file));
      tell_(before);
      if (full()) break;
    }
    bad_.end();
    counts_.left_out = bad_.left_out();
    counts_.doubtful = doubtful_.rows();
    if (shown_ != nullptr) return std::move(counts_);
    require_learnt();
    look_in_other_rows();
    counts_.unseen_columns = unseen_.held();
    return std::move(counts_);
  }

 private:
  struct Pending {
    Example example;
    std::string where;
    std::int64_t bytes;  ///< Bytes of all files up to the row, for progress.
  };

  /// Refuses data whose rows are all left out.
  void require_learnt() const {
    if (counts_.used > 0 || counts_.left_out.empty()) return;
    throw BadRequest("data: " + rows_.name +
                     ": no row is learnt: " + left_out_line(counts_.left_out));
  }

  /// Looks for columns that were not seen in the rows behind those that are read.
  void look_in_other_rows() {
    const RowVisitor visitor{
        .row =
            [this](Row& row) {
              unseen_.look(*row.object);
              return unseen_.none() ? Reading::stops : Reading::goes_on;
            },
        .bad = [](const std::string&, const std::string&) { return Reading::goes_on; },
        .keeps_nulls = keeps_nulls()};
    for (const auto& file : rows_.files.files) {
      if (full() && !unseen_.none()) read_rows(file, rows_.files.form, visitor);
    }
  }

  [[nodiscard]] bool keeps_nulls() const { return rows_.reading == planner::DataReading::first; }

  [[nodiscard]] bool full() const {
    return rows_.max_samples && counts_.read >= *rows_.max_samples;
  }

  [[nodiscard]] Reading next() const {
    return full() || bad_.enough() ? Reading::stops : Reading::goes_on;
  }

  void read_file(const std::filesystem::path& file,
                 const std::function<void(std::int64_t)>& progress) {
    const RowVisitor visitor{.row = [this](Row& row) { return take(row); },
                             .bad =
                                 [this](const std::string& where, const std::string& reason) {
                                   ++counts_.read;
                                   bad_.add(where, reason);
                                   return next();
                                 },
                             .progress = shown_ == nullptr ? progress : nullptr,
                             .keeps_nulls = keeps_nulls()};
    read_rows(file, rows_.files.form, visitor);
  }

  Reading take(Row& row) {
    ++counts_.read;
    counts_.replaced_surrogates += row.replaced_surrogates;
    unseen_.look(*row.object);
    auto read = read_example(*row.object, rows_.format);
    if (const auto* bad = std::get_if<BadExample>(&read)) {
      if (bad->of_file) {
        bad_.add_of_file(row.where, bad->reason);
      } else if (bad->marked) {
        bad_.add_marked(row.where, bad->reason);
      } else {
        bad_.add(row.where, bad->reason);
      }
      return next();
    }
    const bool csv = rows_.files.form == FileForm::csv;
    doubtful_.add(row.where, doubt_of_row(*row.object, rows_.format, csv));
    pending_.push_back({std::move(std::get<Example>(read)), std::move(row.where), done_});
    if (pending_.size() == kRowsAtOnce) flush();
    return next();
  }

  void flush() {
    std::vector<Conversation> conversations;
    for (Pending& each : pending_) {
      if (auto* found = std::get_if<Conversation>(&each.example)) {
        conversations.push_back(std::move(*found));
      }
    }
    std::vector<Rendered> rendered;
    if (!conversations.empty()) rendered = tokens_.chat.render(conversations);
    check(rendered.size() == conversations.size(), "each conversation is rendered");
    std::size_t next_rendered = 0;
    for (Pending& each : pending_) {
      if (std::holds_alternative<Conversation>(each.example)) {
        add_rendered(rendered[next_rendered++], each.where);
      } else if (const auto* text = std::get_if<std::string>(&each.example)) {
        add_text(*text, each.where);
      } else {
        add_completion(std::get<PromptAndCompletion>(each.example), each.where);
      }
      tell_(each.bytes);
    }
    pending_.clear();
  }

  void add_rendered(const Rendered& rendered, const std::string& where) {
    if (!rendered.left_out.empty()) return bad_.add(where, rendered.left_out);
    const auto tokens = tokens_of(rendered.pieces, where);
    if (!tokens) return;
    if (std::ranges::none_of(*tokens, is_learnt)) {
      return bad_.add(where, "the template writes nothing that is learnt");
    }
    doubtful_.add(where, rendered.doubt);
    add(*tokens, rendered.pieces);
  }

  void add_text(const std::string& text, const std::string& where) {
    try {
      std::vector<TokenId> ids = tokenizer_.encode(text, Tokenizer::SpecialTokens::around);
      if (end_ && (ids.empty() || ids.back() != *end_)) ids.push_back(*end_);
      add(ids, {{.text = text, .learnt = true}});
    } catch (const BadRequest& error) {
      bad_.add(where, rows_.format.text + ": " + error.what());
    }
  }

  void add_completion(const PromptAndCompletion& example, const std::string& where) {
    const std::vector<ChatPiece> pieces = {{.text = example.prompt, .learnt = false},
                                           {.text = example.completion, .learnt = true}};
    auto tokens = tokens_of(pieces, where);
    if (!tokens) return;
    std::vector<LearntToken> all;
    for (const TokenId id : before_) all.push_back(~id);
    all.insert(all.end(), tokens->begin(), tokens->end());
    if (end_ && (all.empty() || id_of(all.back()) != *end_)) all.push_back(*end_);
    add(all, pieces);
  }

  std::optional<std::vector<LearntToken>> tokens_of(const std::vector<ChatPiece>& pieces,
                                                    const std::string& where) {
    try {
      return learnt_tokens(tokenizer_, pieces, where);
    } catch (const BadRequest& error) {
      const std::string message = error.what();
      const bool placed = message.starts_with(where + ": ");
      bad_.add(where, placed ? message.substr(where.size() + 2) : message);
      return std::nullopt;
    }
  }

  void add(std::span<const LearntToken> tokens, const std::vector<ChatPiece>& pieces) {
    ++counts_.used;
    add_(tokens);
    if (shown_ == nullptr) return;
    ShownRow& row = shown_->emplace_back();
    row.tokens.assign(tokens.begin(), tokens.end());
    for (const ChatPiece& piece : pieces) row.pieces.push_back({piece.text, piece.learnt});
  }

  const DocumentRows& rows_;
  const DocumentTokens& tokens_;
  const DocumentCache::AddDocument& add_;
  Tokenizer tokenizer_;
  std::optional<TokenId> end_;
  std::vector<TokenId> before_;
  BadRows bad_;
  DoubtfulRows doubtful_;
  RowCounts counts_;
  std::vector<Pending> pending_;
  std::int64_t done_ = 0;                   ///< Bytes of all files that were read.
  std::function<void(std::int64_t)> tell_;  ///< Tells the bytes whose tokens are made.
  UnseenColumns unseen_;
  std::vector<ShownRow>* shown_;
};

Json json_of(const std::vector<LeftOutRows>& counted) {
  Json reasons = Json::array();
  for (const LeftOutRows& each : counted) {
    reasons.push_back({{"reason", each.reason}, {"rows", each.rows}, {"first", each.first}});
  }
  return reasons;
}

std::vector<LeftOutRows> counted_rows(const Json& all, const char* field) {
  std::vector<LeftOutRows> counted;
  for (const Json& each : all.value(field, Json::array())) {
    counted.push_back({.reason = each.value("reason", std::string()),
                       .rows = each.value("rows", std::int64_t{0}),
                       .first = each.value("first", std::string())});
  }
  return counted;
}

}  // namespace

DocumentHashes DocumentRows::hashes(const DocumentTokens& tokens) const {
  std::vector<std::string> records;
  for (const auto& file : files.files) records.push_back(read_record(file).sha256);
  const std::string tokenizer = tokens.tokenizer.hash();
  const auto with_template = [&](const std::string& chat) {
    planner::CanonicalText text("sluice/documents");
    text.add("version", kDocumentVersion);
    for (const std::string& record : records) text.add("records", record);
    text.add("tokenizer", tokenizer).add("format", format.canonical()).add("template", chat);
    // JSON alone was read when this text was fixed: its hashes stay.
    if (files.form != FileForm::json) text.add("form", to_string(files.form));
    const bool table = files.form == FileForm::parquet || files.form == FileForm::arrow;
    if (table && reading != planner::DataReading::first) text.add("nulls", "dropped");
    if (files.form == FileForm::csv && data_extension(files.files.front()) == ".tsv") {
      text.add("separator", "tab");
    }
    if (max_samples) text.add("max_samples", *max_samples);
    return text.hash();
  };
  if (!format.conversations()) return {.now = with_template(tokens.end_of_text.value_or(""))};
  DocumentHashes hashes{.now = with_template(tokens.chat.canonical())};
  if (const auto earlier = tokens.chat.canonical_of_0_1_0()) {
    hashes.of_0_1_0 = with_template(*earlier);
  }
  return hashes;
}

std::string RowCounts::text() const {
  Json all = {{"rows_read", read},
              {"rows_used", used},
              {"replaced_surrogates", replaced_surrogates},
              {"left_out", json_of(left_out)}};
  if (!unseen_columns.empty()) all["unseen_columns"] = unseen_columns;
  if (!doubtful.empty()) all["doubtful"] = json_of(doubtful);
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

RowCounts RowCounts::of_text(std::string_view text) {
  RowCounts counts;
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_object()) return counts;
  counts.read = all.value("rows_read", std::int64_t{0});
  counts.used = all.value("rows_used", std::int64_t{0});
  counts.replaced_surrogates = all.value("replaced_surrogates", std::int64_t{0});
  counts.left_out = counted_rows(all, "left_out");
  counts.doubtful = counted_rows(all, "doubtful");
  for (const Json& each : all.value("unseen_columns", Json::array())) {
    counts.unseen_columns.push_back(each.get<std::string>());
  }
  return counts;
}

RowCounts make_documents(const DocumentRows& rows, const DocumentTokens& tokens,
                         const DocumentCache::AddDocument& add, const TextProgress& progress) {
  return DocumentMaker(rows, tokens, add).run(progress);
}

std::vector<ShownRow> first_rows(const DocumentRows& rows, const DocumentTokens& tokens,
                                 std::int64_t most, std::int64_t left_out) {
  DocumentRows beginning = rows;
  beginning.strict = false;
  beginning.max_samples = std::min(rows.max_samples.value_or(most + left_out), most + left_out);
  std::vector<ShownRow> shown;
  const DocumentCache::AddDocument nowhere = [](std::span<const LearntToken>) {};
  (void)DocumentMaker(beginning, tokens, nowhere, &shown).run(nullptr);
  if (std::ssize(shown) > most) shown.resize(static_cast<std::size_t>(most));
  return shown;
}

}  // namespace sluice::engine
