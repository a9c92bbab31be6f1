#include "engine/tokenizer/normalizer.hpp"

#include <utf8proc.h>

#include "engine/tokenizer/byte_letters.hpp"
#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/letter_case.hpp"
#include "engine/tokenizer/normal_form.hpp"
#include "engine/tokenizer/unicode_properties.hpp"

namespace sluice::engine {
namespace {

class Normalised : public Normalizer {
 public:
  explicit Normalised(NormalForm form) : form_(form) {}
  void apply(AlignedText& text) const override { normalize(text, form_); }

 private:
  NormalForm form_;
};

/// Nmt: control characters go, what looks like a space becomes one (tokenizers,
/// normalizers/unicode.rs).
class Nmt : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t value) {
      return !((value >= 0x1 && value <= 0x8) || value == 0xb || (value >= 0xe && value <= 0x1f) ||
               value == 0x7f || value == 0x8f || value == 0x9f);
    });
    const std::u32string points = text.code_points();
    AlignedText::Edit edit(text);
    for (const char32_t value : points) edit.put(is_nmt_space(value) ? U' ' : value, 0);
    edit.finish();
  }

 private:
  static bool is_nmt_space(char32_t value) {
    return value == 0x9 || value == 0xa || value == 0xc || value == 0xd || value == 0x1680 ||
           (value >= 0x200b && value <= 0x200f) || value == 0x2028 || value == 0x2029 ||
           value == 0x2581 || value == 0xfeff || value == 0xfffd;
  }
};

class LowercaseNormalizer : public Normalizer {
 public:
  void apply(AlignedText& text) const override { lower(text); }
};

class AccentsNormalizer : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t value) { return !is_mark(value); });
  }
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  void apply(AlignedText& text) const override {
    const std::u32string points = text.code_points();
    std::size_t begin = 0, end = points.size();
    while (left_ && begin < points.size() && is_white_space(points[begin])) ++begin;
    while (right_ && end > begin && is_white_space(points[end - 1])) --end;
    if (begin == 0 && end == points.size()) return;
    AlignedText::Edit edit(text, begin);
    for (std::size_t at = begin; at < end; ++at) edit.put(points[at], 0);
    edit.finish();
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}
  void apply(AlignedText& text) const override { text.prepend(text_); }

 private:
  std::string text_;
};

/// ByteLevel: each byte becomes its letter (byte_letters.hpp).
class ByteLetters : public Normalizer {
 public:
  void apply(AlignedText& text) const override { write_byte_letters(text); }
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(TextPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void apply(AlignedText& text) const override {
    std::vector<AlignedText::Match> matches;
    pattern_.find(text.text(), [&](std::size_t begin, std::size_t end) {
      matches.push_back({begin, end});
    });
    text.replace(matches, content_);
  }

 private:
  TextPattern pattern_;
  std::string content_;
};

std::unique_ptr<Normalizer> normalizer_of(const JsonStep& step) {
  const std::string& type = step.type();
  if (type == "NFC") return std::make_unique<Normalised>(NormalForm::nfc);
  if (type == "NFD") return std::make_unique<Normalised>(NormalForm::nfd);
  if (type == "NFKC") return std::make_unique<Normalised>(NormalForm::nfkc);
  if (type == "NFKD") return std::make_unique<Normalised>(NormalForm::nfkd);
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "Lowercase") return std::make_unique<LowercaseNormalizer>();
  if (type == "StripAccents") return std::make_unique<AccentsNormalizer>();
  if (type == "Strip") {
    return std::make_unique<StripNormalizer>(step.flag("strip_left", true), step.flag("strip_right", true));
  }
  if (type == "Prepend") return std::make_unique<PrependNormalizer>(step.text("prepend"));
  if (type == "ByteLevel") return std::make_unique<ByteLetters>();
  if (type == "Replace") {
    return std::make_unique<ReplaceNormalizer>(step.pattern("pattern"), step.text("content"));
  }
  if (type == "Precompiled") return read_precompiled(step);
  if (type == "BertNormalizer") return read_bert_normalizer(step);
  step.unsupported(
      "NFC, NFD, NFKC, NFKD, Nmt, Lowercase, StripAccents, Strip, Prepend, Replace, ByteLevel, "
      "Precompiled, BertNormalizer, Sequence");
}

}  // namespace

void read_normalizer(const JsonStep& step, Normalizers& normalizers) {
  if (step.type() == "Sequence") {
    for (const JsonStep& each : step.steps("normalizers")) read_normalizer(each, normalizers);
    return;
  }
  normalizers.push_back(normalizer_of(step));
}

}  // namespace sluice::engine
