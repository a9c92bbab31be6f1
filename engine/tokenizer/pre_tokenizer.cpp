#include "engine/tokenizer/pre_tokenizer.hpp"

#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/split_behavior.hpp"

namespace sluice::engine {
namespace {

class Split : public PreTokenizer {
 public:
  Split(TextPattern pattern, SplitBehavior behavior, bool inverted)
      : pattern_(std::move(pattern)), behavior_(behavior), inverted_(inverted) {}

  void cut(const Piece& piece, Places, const PieceSink& sink) const override {
    Splitting splitting(piece, behavior_, inverted_, sink);
    pattern_.find(piece.text, [&](std::size_t begin, std::size_t end) {
      splitting.match(begin, end);
    });
    splitting.finish();
  }

 private:
  TextPattern pattern_;
  SplitBehavior behavior_;
  bool inverted_;
};

std::unique_ptr<PreTokenizer> read_split(const JsonStep& step) {
  const std::string name = step.text("behavior");
  const auto behavior = split_behavior(name);
  if (!behavior) {
    step.fail("behavior \"" + name + "\" is unknown; known: Removed, Isolated, Contiguous, " +
              "MergedWithPrevious, MergedWithNext");
  }
  return std::make_unique<Split>(step.pattern("pattern"), *behavior, step.flag("invert", false));
}

}  // namespace

void read_pre_tokenizer(const JsonStep& step, PreTokenizers& steps) {
  const std::string& type = step.type();
  if (type == "Sequence") {
    for (const JsonStep& each : step.steps("pretokenizers")) read_pre_tokenizer(each, steps);
    return;
  }
  if (type == "BertPreTokenizer") {
    steps.push_back(read_character_cut(step));
    steps.push_back(bert_punctuation());
    return;
  }
  std::unique_ptr<PreTokenizer> made;
  if (type == "Split") made = read_split(step);
  if (type == "Metaspace") made = read_metaspace(step);
  if (type == "ByteLevel") made = read_byte_level(step);
  if (!made) made = read_character_cut(step);
  if (!made) {
    step.unsupported(
        "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, "
        "Punctuation, Split, UnicodeScripts, Whitespace, WhitespaceSplit, Sequence");
  }
  steps.push_back(std::move(made));
}

}  // namespace sluice::engine
