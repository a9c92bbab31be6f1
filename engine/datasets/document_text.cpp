#include "engine/datasets/document_text.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "engine/datasets/mixture.hpp"
#include "engine/examples/row_marks.hpp"
#include "planner/files/hash.hpp"
#include "planner/runs/refusal.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

using planner::Packing;

/// Tells what was left out of a data set, each time that it is opened.
void tell_of(const DocumentRows& rows, const RowCounts& counts) {
  const std::string line = left_out_line(counts.left_out);
  if (!line.empty()) sim::warn("data: " + rows.name + ": " + line);
  for (const LeftOutRows& each : counts.doubtful) {
    sim::warn("data: " + rows.name + ": " + std::to_string(each.rows) +
              (each.rows == 1 ? " row, " : " rows, the first ") + each.first + ": " + each.reason);
  }
  if (counts.replaced_surrogates > 0) {
    sim::warn("data: " + rows.name + ": " + std::to_string(counts.replaced_surrogates) +
              " lone surrogates (half of a character's escape) are read as U+FFFD");
  }
}

/// Refuses a weight or share by which a set's documents would be read more often than memory holds.
void require_few_readings(const DocumentRows& rows, const MixedSet& set, planner::Mixture mixture) {
  if (!reads_too_often(set)) return;
  char passes[32];
  std::snprintf(passes, sizeof passes, "%g", set.passes);
  const bool drawn = mixture != planner::Mixture::weights;
  const std::string field = drawn ? "share" : rows.num_samples ? "num_samples" : "weight";
  throw BadRequest("data: " + rows.name + ": " + field + ": an epoch would read its " +
                   std::to_string(set.documents) + " rows " + passes +
                   " times, which is more than " + std::to_string(kMostReadings) +
                   " readings: make " +
                   (drawn ? "the shares of the sets less unequal"
                          : "the weights of all sets smaller in proportion, and epochs or steps "
                            "larger"));
}

}  // namespace

DocumentText::DocumentText(Source source, Packing packing, std::int64_t seq_len, std::int64_t seed,
                           const TextProgress& progress)
    : WindowedText(seq_len, seed),
      source_(std::move(source)),
      packing_(packing),
      layout_(packing, seq_len) {
  open_sets(progress);
  for (const LearntToken token : cache_->tokens()) {
    vocabulary_ = std::max<std::int64_t>(vocabulary_, id_of(token) + 1);
  }
  if (packing == Packing::stream) {
    cut_stream();
  } else {
    cut_pieces();
  }
}

bool DocumentText::is_mixture() const {
  const DocumentRows& first = source_.sets.front();
  return source_.sets.size() > 1 || first.weight != 1 || first.num_samples;
}

bool DocumentText::is_text(std::int64_t document) const {
  const std::size_t set =
      set_of_document_.empty()
          ? 0
          : static_cast<std::size_t>(set_of_document_[static_cast<std::size_t>(document)]);
  return source_.sets[set].format.kind == planner::DataFormat::jsonl;
}

std::string DocumentText::names() const {
  std::string names;
  for (const DocumentRows& set : source_.sets) {
    names.append(names.empty() ? "" : ", ").append(set.name);
  }
  return names;
}

void DocumentText::open_sets(const TextProgress& progress) {
  std::vector<std::unique_ptr<DocumentCache>> opened;
  planner::CanonicalText mixture("sluice/mixture");
  std::vector<planner::Refusal> refusals;
  for (const DocumentRows& rows : source_.sets) {
    try {
      open_set(rows, progress, opened, mixture);
    } catch (const BadRequest& error) {
      refusals.push_back({"data", error.what()});
    }
  }
  planner::throw_if_any(refusals);
  if (source_.mixture != planner::Mixture::weights) {
    mixture.add("mixture", to_string(source_.mixture));
  }
  require_columns();
  if (!is_mixture()) {
    cache_ = std::move(opened.front());
    return;
  }
  tokens_hash_ = mixture.hash();
  open_mixture(opened);
}

void DocumentText::require_columns() const {
  std::map<std::pair<std::string, std::string>, bool> seen;
  for (std::size_t i = 0; i < source_.sets.size(); ++i) {
    for (const auto& column : source_.sets[i].format.stated) {
      const bool missing = std::ranges::find(counts_[i].unseen_columns, column.first) !=
                           counts_[i].unseen_columns.end();
      bool& any = seen[column];
      any = any || !missing;
    }
  }
  for (const auto& [column, any] : seen) {
    if (any) continue;
    const auto& [held, field] = column;
    const bool marks = held == "learnt";
    const std::string said = "columns." + held + ": " + (marks ? "no turn and " : "") +
                             "no row of " + names() + " has a field \"" + field + "\"";
    // A usual name asks for no more than what is done without it.
    if (marks && !is_mark(field, {})) {
      throw BadRequest(said +
                       ": name the one that says what is learnt, or leave columns.learnt out");
    }
    sim::warn("data: " + said);
  }
}

void DocumentText::open_set(const DocumentRows& rows, const TextProgress& progress,
                            std::vector<std::unique_ptr<DocumentCache>>& opened,
                            planner::CanonicalText& mixture) {
  const DocumentHashes hashes = rows.hashes(source_.tokens);
  const std::string& hash = hashes.now;
  opened.push_back(std::make_unique<DocumentCache>(
      source_.cache / (hash + ".documents"), [&](const DocumentCache::AddDocument& add) {
        return make_documents(rows, source_.tokens, add, progress).text();
      }));
  const DocumentCache& set = *opened.back();
  RowCounts counts = RowCounts::of_text(set.note());
  if (set.note().empty()) counts.read = counts.used = set.documents();
  if (rows.strict && !counts.left_out.empty()) {
    // An earlier reading was not strict: what it left out is listed now.
    (void)make_documents(
        rows, source_.tokens, [](std::span<const LearntToken>) {}, progress);
  }
  tell_of(rows, counts);
  counts_.push_back(std::move(counts));
  tokens_hash_ = hash;
  tokens_hash_of_0_1_0_ = hashes.of_0_1_0;
  mixture.add("documents", hash)
      .add("weight", rows.weight)
      .add("samples", rows.num_samples.value_or(0));
  if (source_.mixture != planner::Mixture::weights) mixture.add("share", rows.share);
}

void DocumentText::open_mixture(const std::vector<std::unique_ptr<DocumentCache>>& sets) {
  std::vector<MixedSet> mixed;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const DocumentRows& rows = source_.sets[i];
    MixedSet set{.documents = sets[i]->documents(), .passes = rows.weight};
    if (rows.num_samples && set.documents > 0) {
      set.passes *= static_cast<double>(*rows.num_samples) / static_cast<double>(set.documents);
    }
    mixed.push_back(set);
  }
  if (source_.mixture != planner::Mixture::weights) {
    std::vector<double> shares;
    for (const DocumentRows& rows : source_.sets) shares.push_back(rows.share);
    draw_by_shares(mixed, shares, source_.mixture);
    for (std::size_t i = 0; i < sets.size(); ++i) source_.sets[i].weight = mixed[i].passes;
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    require_few_readings(source_.sets[i], mixed[i], source_.mixture);
  }
  const MixedOrder order = mixed_order(mixed);
  training_documents_ = order.training;
  for (const MixedDocument& each : order.documents) set_of_document_.push_back(each.set);
  cache_ = std::make_unique<DocumentCache>(
      source_.cache / (tokens_hash_ + ".documents"), [&](const DocumentCache::AddDocument& add) {
        for (const MixedDocument& each : order.documents) {
          add(sets[static_cast<std::size_t>(each.set)]->document(each.document));
        }
        return std::string();
      });
}

void DocumentText::cut_stream() {
  const std::int64_t all = std::ssize(cache_->tokens());
  if (training_documents_) {
    // Windows begin anew where the documents of validation do.
    const std::int64_t trained = cache_->start(*training_documents_);
    const auto windows = [this](std::int64_t tokens) {
      return std::max<std::int64_t>(0, (tokens - 1) / seq_len());
    };
    windows_of_training_ = windows(trained);
    if (windows_of_training_ < 1 || windows(all - trained) < 1) {
      throw BadRequest("data: " + names() + " hold " + std::to_string(trained) +
                       " tokens to train and " + std::to_string(all - trained) +
                       " to validate, and each needs " + std::to_string(seq_len() + 1) +
                       ": give more text or a smaller seq_len");
    }
    set_windows(windows_of_training_, windows(all - trained), all);
  } else {
    cut(names(), all, "tokens");
  }
  leave_out(names(),
            [this](std::int64_t window) { return learnt_within(stream_window(window)) > 0; });
}

DocumentPiece DocumentText::stream_window(std::int64_t window) const {
  if (!training_documents_ || window < windows_of_training_) {
    return {window * seq_len(), seq_len()};
  }
  const std::int64_t first = cache_->start(*training_documents_);
  return {first + (window - windows_of_training_) * seq_len(), seq_len()};
}

void DocumentText::add_pieces(std::int64_t document, std::vector<DocumentPiece>& pieces) {
  std::int64_t first = cache_->start(document);
  std::int64_t places = cache_->start(document + 1) - first - 1;
  if (is_text(document)) {
    for (; places > 0; first += seq_len(), places -= seq_len()) {
      pieces.push_back({first, std::min(places, seq_len())});
    }
    return;
  }
  const bool too_long = places > seq_len();
  const DocumentPiece piece{first, std::min(places, seq_len())};
  if (learnt_within(piece) == 0) {
    if (left_out_++ == 0) first_left_out_ = document;
    return;
  }
  cut_off_ += too_long ? 1 : 0;
  pieces.push_back(piece);
}

std::int64_t DocumentText::learnt_within(const DocumentPiece& piece) const {
  if (piece.places < 1) return 0;
  return std::ranges::count_if(cache_->tokens().subspan(static_cast<std::size_t>(piece.first) + 1,
                                                        static_cast<std::size_t>(piece.places)),
                               is_learnt);
}

void DocumentText::require_nothing_left_out() const {
  const bool strict = std::ranges::any_of(source_.sets, &DocumentRows::strict);
  if (!strict || left_out_ == 0) return;
  const bool one = left_out_ == 1;
  throw BadRequest("data: strict: " + std::to_string(left_out_) + (one ? " row" : " rows") +
                   " would be left out: nothing to learn within seq_len " +
                   std::to_string(seq_len()) + " (the first is number " +
                   std::to_string(first_left_out_ + 1) + " of " + names() +
                   "): raise seq_len, or leave out what comes before the answers");
}

void DocumentText::cut_pieces() {
  std::vector<std::vector<DocumentPiece>> documents;
  std::size_t training = 0;  // Documents of a mixture before those of validation.
  for (std::int64_t document = 0; document < cache_->documents(); ++document) {
    std::vector<DocumentPiece> pieces;
    add_pieces(document, pieces);
    if (!pieces.empty()) documents.push_back(std::move(pieces));
    if (training_documents_ && document < *training_documents_) training = documents.size();
  }
  require_nothing_left_out();
  if (documents.size() < 2) {
    throw BadRequest("data: " + names() + " holds " + std::to_string(documents.size()) +
                     " documents to learn within " + std::to_string(seq_len() + 1) +
                     " tokens, and training with validation needs two: give more, or a larger "
                     "seq_len");
  }
  const std::size_t twentieth = std::max<std::size_t>(1, documents.size() / 20);
  const bool divided = training > 0 && training < documents.size();
  if (!divided) training = documents.size() - twentieth;
  const std::span all(documents);
  const std::int64_t trained = layout_.add(all.first(training));
  set_windows(trained, layout_.add(all.subspan(training)), std::ssize(cache_->tokens()));
}

void DocumentText::read_piece(const DocumentPiece& piece, std::int32_t* inputs,
                              std::int32_t* targets) const {
  const LearntToken* token = cache_->tokens().data() + piece.first;
  for (std::int64_t i = 0; i < piece.places; ++i) {
    inputs[i] = id_of(token[i]);
    targets[i] = is_learnt(token[i + 1]) ? token[i + 1] : kMaskedTarget;
  }
}

void DocumentText::read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) {
  if (packing_ == Packing::stream) return read_piece(stream_window(window), inputs, targets);
  layout_.fill(
      window, inputs, targets,
      [this](const DocumentPiece& piece, std::int32_t* into_inputs, std::int32_t* into_targets) {
        read_piece(piece, into_inputs, into_targets);
      });
}

std::string DocumentText::hash() const {
  planner::CanonicalText text("sluice/sequences");
  text.add("documents", tokens_hash_).add("packing", planner::to_string(packing_));
  if (left_out_windows() > 0) text.add("windows_left_out", left_out_windows());
  return text.hash();
}

std::optional<std::string> DocumentText::hash_of_all_windows() const {
  if (is_mixture()) return std::nullopt;
  if (left_out_windows() == 0 && !tokens_hash_of_0_1_0_) return std::nullopt;
  return planner::CanonicalText("sluice/sequences")
      .add("documents", tokens_hash_of_0_1_0_.value_or(tokens_hash_))
      .add("packing", planner::to_string(packing_))
      .hash();
}

bool DocumentText::has_conversations() const {
  return std::ranges::any_of(source_.sets,
                             [](const DocumentRows& each) { return each.format.conversations(); });
}

std::optional<ChatFacts> DocumentText::chat() const {
  if (!has_conversations()) return std::nullopt;
  return ChatFacts{.jinja2 = source_.tokens.chat.jinja2(),
                   .turn_end = source_.tokens.chat.turn_end(),
                   .sources = source_.tokens.chat.sources()};
}

double DocumentText::unigram_entropy() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary_));
  for (const LearntToken token : cache_->tokens()) {
    if (is_learnt(token)) ++counts[static_cast<std::size_t>(token)];
  }
  return entropy_of(counts);
}

std::optional<PackedSequences> DocumentText::if_packed() const {
  return layout_.if_packed(training_windows());
}

std::int64_t DocumentText::used_places() const {
  return packing_ == Packing::stream ? WindowedText::used_places() : layout_.places();
}

std::string DocumentText::description() const {
  const bool chat = has_conversations();
  std::string text = std::to_string(cache_->documents()) +
                     (chat ? " conversations of " : " documents of ") + names() + " by " +
                     source_.tokens.tokenizer.main_file().string();
  if (chat) text += ", chat template " + source_.tokens.chat.name();
  if (packing_ == Packing::stream) {
    text += "; " + std::to_string(tokens()) + " in a stream";
    if (left_out_windows() > 0) {
      text += "; " + std::to_string(left_out_windows()) + " of " +
              std::to_string(training_windows() + validation_windows() + left_out_windows()) +
              " windows left out: nothing to learn in them";
    }
  } else {
    const std::int64_t sequences = training_windows() + validation_windows();
    text += "; " + std::to_string(sequences) + " sequences, " + padding_text(*this);
    if (cut_off_ > 0) text += "; " + std::to_string(cut_off_) + " cut off at seq_len";
    if (left_out_ > 0) {
      text += "; " + std::to_string(left_out_) + " left out: nothing to learn within seq_len";
    }
  }
  for (const RowCounts& each : counts_) {
    const std::string line = left_out_line(each.left_out);
    if (!line.empty()) text += "; " + line;
  }
  return text;
}

}  // namespace sluice::engine
