#include <array>

#include "engine/tokenizer/code_point_set.hpp"
#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/letter_case.hpp"
#include "engine/tokenizer/normal_form.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/unicode_properties.hpp"

namespace sluice::engine {
namespace {

/// Blocks of Chinese characters that get spaces around them (tokenizers, normalizers/bert.rs).
constexpr CodePointRange kChinese[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                       {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f},
                                       {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};

bool is_chinese(char32_t value) {
  for (const CodePointRange& range : kChinese) {
    if (value >= range.first && value <= range.last) return true;
  }
  return false;
}

bool is_bert_space(char32_t value) { return value == 0x9 || value == 0xa || value == 0xd || is_white_space(value); }

struct BertSettings {
  bool clean, chinese, strip, lower;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertSettings settings) : settings_(settings) {}

  void apply(AlignedText& text) const override {
    if (settings_.clean) clean(text);
    if (settings_.chinese) set_apart_chinese(text);
    if (settings_.strip) {
      normalize(text, NormalForm::nfd);
      text.filter([](char32_t value) { return !is_mark(value); });
    }
    if (settings_.lower) lower(text);
  }
  bool needs_places() const override { return settings_.chinese; }

 private:
  static void clean(AlignedText& text) {
    text.filter([](char32_t value) {
      return value != 0 && value != 0xfffd && (is_bert_space(value) || !is_other(value));
    });
    const std::u32string points = text.code_points();
    AlignedText::Edit edit(text);
    for (const char32_t value : points) edit.put(is_bert_space(value) ? U' ' : value, 0);
    edit.finish();
  }

  static void set_apart_chinese(AlignedText& text) {
    const std::u32string points = text.code_points();
    AlignedText::Edit edit(text);
    for (const char32_t value : points) {
      const bool apart = is_chinese(value);
      if (apart) edit.put(U' ', 1);
      edit.put(value, 0);
      if (apart) edit.put(U' ', 1);
    }
    edit.finish();
  }

  BertSettings settings_;
};

}  // namespace

std::unique_ptr<Normalizer> read_bert_normalizer(const JsonStep& step) {
  const bool lower = step.flag("lowercase", true);
  return std::make_unique<BertNormalizer>(BertSettings{
      .clean = step.flag("clean_text", true),
      .chinese = step.flag("handle_chinese_chars", true),
      .strip = step.flag("strip_accents").value_or(lower),
      .lower = lower});
}

}  // namespace sluice::engine
