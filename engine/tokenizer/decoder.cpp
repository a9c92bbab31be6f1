#include "engine/tokenizer/decoder.hpp"

#include <algorithm>
#include <charconv>

#include "engine/tokenizer/byte_letters.hpp"
#include "engine/tokenizer/json_step.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

/// One token of all of them.
void fuse(DecodedTokens& tokens) {
  DecodedToken all;
  for (const DecodedToken& token : tokens) all.text += token.text;
  tokens.clear();
  tokens.push_back(std::move(all));
}

class ByteLevelDecoder : public Decoder {
 public:
  void apply(DecodedTokens& tokens) const override {
    for (DecodedToken& token : tokens) {
      if (token.added) continue;
      if (auto bytes = bytes_of_letters(token.text)) token.text = std::move(*bytes);
    }
    fuse(tokens);
    tokens.front().text = sim::with_replacements(tokens.front().text);
  }
};

class MetaspaceDecoder : public Decoder {
 public:
  MetaspaceDecoder(char32_t mark, bool drops_first) : drops_first_(drops_first) {
    sim::append_utf8(mark_, mark);
  }
  void apply(DecodedTokens& tokens) const override {
    bool first = true;
    for (DecodedToken& token : tokens) {
      replace_all(token.text, mark_, first && drops_first_ ? "" : " ");
      first = false;
    }
  }

 private:
  std::string mark_;
  bool drops_first_;
};

/// ByteFallback: runs of tokens <0x00> ... <0xFF> become the text that their bytes are, or a
/// replacement character for each where they are none.
class ByteFallbackDecoder : public Decoder {
 public:
  void apply(DecodedTokens& tokens) const override {
    DecodedTokens out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (sim::first_not_utf8(bytes)) {
        for (std::size_t i = 0; i < bytes.size(); ++i) out.push_back({"\xEF\xBF\xBD"});
      } else {
        out.push_back({bytes});
      }
      bytes.clear();
    };
    for (DecodedToken& token : tokens) {
      if (const auto byte = byte_of(token.text)) {
        bytes += *byte;
      } else {
        flush();
        out.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(out);
  }

 private:
  static std::optional<char> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    unsigned value = 0;
    const char* end = token.data() + 5;
    if (token[3] == '+') return byte_of("<0x0" + std::string(token.substr(4)));
    const auto read = std::from_chars(token.data() + 3, end, value, 16);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return static_cast<char>(value);
  }
};

class FuseDecoder : public Decoder {
 public:
  void apply(DecodedTokens& tokens) const override { fuse(tokens); }
};

class StripDecoder : public Decoder {
 public:
  StripDecoder(char32_t content, std::int64_t start, std::int64_t stop)
      : start_(start), stop_(stop) {
    sim::append_utf8(content_, content);
  }
  void apply(DecodedTokens& tokens) const override {
    for (DecodedToken& token : tokens) {
      for (std::int64_t i = 0; i < start_ && token.text.starts_with(content_); ++i) {
        token.text.erase(0, content_.size());
      }
      for (std::int64_t i = 0; i < stop_ && token.text.ends_with(content_); ++i) {
        token.text.erase(token.text.size() - content_.size());
      }
    }
  }

 private:
  std::string content_;
  std::int64_t start_, stop_;
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(TextPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(DecodedTokens& tokens) const override {
    for (DecodedToken& token : tokens) {
      std::string out;
      std::size_t done = 0;
      pattern_.find(token.text, [&](std::size_t begin, std::size_t end) {
        out.append(token.text, done, begin - done);
        out += content_;
        done = end;
      });
      if (done == 0 && out.empty()) continue;
      token.text = out.append(token.text, done);
    }
  }

 private:
  TextPattern pattern_;
  std::string content_;
};

/// Leaves out the spaces before punctuation and in contractions (tokenizers,
/// decoders/wordpiece.rs).
void clean_up(std::string& text) {
  constexpr std::pair<const char*, const char*> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, by] : kChanges) replace_all(text, what, by);
}

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleans) : prefix_(std::move(prefix)), cleans_(cleans) {}
  void apply(DecodedTokens& tokens) const override {
    bool first = true;
    for (DecodedToken& token : tokens) {
      if (!first) {
        if (token.text.starts_with(prefix_)) {
          token.text.erase(0, prefix_.size());
        } else {
          token.text.insert(0, " ");
        }
      }
      first = false;
      if (cleans_) clean_up(token.text);
    }
  }

 private:
  std::string prefix_;
  bool cleans_;
};

class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(DecodedTokens& tokens) const override {
    for (DecodedToken& token : tokens) {
      replace_all(token.text, suffix_, &token == &tokens.back() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

class CtcDecoder : public Decoder {
 public:
  CtcDecoder(std::string pad, std::string delimiter, bool cleans)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleans_(cleans) {}
  void apply(DecodedTokens& tokens) const override {
    const auto same = [](const DecodedToken& one, const DecodedToken& other) {
      return one.text == other.text;
    };
    tokens.erase(std::unique(tokens.begin(), tokens.end(), same), tokens.end());
    for (DecodedToken& token : tokens) {
      replace_all(token.text, pad_, "");
      if (!cleans_) continue;
      clean_up(token.text);
      replace_all(token.text, delimiter_, " ");
    }
    std::erase_if(tokens, [](const DecodedToken& token) { return token.text.empty(); });
  }

 private:
  std::string pad_, delimiter_;
  bool cleans_;
};

std::unique_ptr<Decoder> decoder_of(const JsonStep& step) {
  const std::string& type = step.type();
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "Metaspace") {
    const bool drops =
        step.text("prepend_scheme", "always") != "never" && step.flag("add_prefix_space", true);
    return std::make_unique<MetaspaceDecoder>(step.character("replacement", U'\u2581'), drops);
  }
  if (type == "Strip") {
    return std::make_unique<StripDecoder>(step.character("content", U' '), step.count("start"),
                                          step.count("stop"));
  }
  if (type == "Replace") {
    return std::make_unique<ReplaceDecoder>(step.pattern("pattern"), step.text("content"));
  }
  if (type == "WordPiece") {
    return std::make_unique<WordPieceDecoder>(step.text("prefix", "##"),
                                              step.flag("cleanup", true));
  }
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(step.text("suffix", "</w>"));
  if (type == "CTC") {
    return std::make_unique<CtcDecoder>(step.text("pad_token", "<pad>"),
                                        step.text("word_delimiter_token", "|"),
                                        step.flag("cleanup", true));
  }
  step.unsupported(
      "BPEDecoder, ByteFallback, ByteLevel, CTC, Fuse, Metaspace, Replace, Strip, WordPiece, "
      "Sequence");
}

}  // namespace

void read_decoder(const JsonStep& step, Decoders& decoders) {
  if (step.type() == "Sequence") {
    for (const JsonStep& each : step.steps("decoders")) read_decoder(each, decoders);
    return;
  }
  decoders.push_back(decoder_of(step));
}

}  // namespace sluice::engine
