// A key of another program's training file: what becomes of it in a run.
#pragma once

#include <span>
#include <string>

namespace sluice::planner {

struct RunConfig;

/// Programs whose training files are read.
enum class Program { transformers, llama_factory, axolotl, trl, torchtune };
const char* to_string(Program program);

/// A key of another program's training files, or with a star at its end all keys that begin so, and
/// what becomes of it in a run.
struct ForeignKey {
  /// What becomes of the key.
  enum class Kind {
    alias,    ///< Another name of RUN.yaml's path `text`.
    rule,     ///< The function `set` sets what the value means.
    moot,     ///< Has no effect in Sluice: a note says so with the reason in `text`.
    refused,  ///< Refused unless its value switches it off; `text` says what to write instead.
    /// Trains adapters or freezes parts of the model: kept until adapter_refusal() decides.
    adapter,
  };
  /// Sets in a run what `value` of the program's `key` means. Throws BadRequest.
  using Setter = void (*)(RunConfig&, const std::string& value, const std::string& key);

  const char* key;
  Kind kind;
  const char* text;
  Setter set = nullptr;
};

/// The entry of a key table for a key that is another name of `path`.
constexpr ForeignKey alias(const char* key, const char* path) {
  return {key, ForeignKey::Kind::alias, path};
}
/// The entry of a key table for a key whose value `set` translates.
constexpr ForeignKey rule(const char* key, ForeignKey::Setter set) {
  return {key, ForeignKey::Kind::rule, "", set};
}
/// The entry of a key table for a key that has no effect, because of `why`.
constexpr ForeignKey moot(const char* key, const char* why) {
  return {key, ForeignKey::Kind::moot, why};
}
/// The entry of a key table for a key that is refused; `fix` says what to write instead.
constexpr ForeignKey refused(const char* key, const char* fix) {
  return {key, ForeignKey::Kind::refused, fix};
}
/// The entry of a key table for a key that trains adapters or freezes parts of a model.
constexpr ForeignKey adapter(const char* key) { return {key, ForeignKey::Kind::adapter, ""}; }

/// Reasons and advice (ForeignKey::text) that keys of several programs share.
inline constexpr const char* kPlanned = "the plan chooses it";
inline constexpr const char* kOneGpu =
    "--devices says how many GPUs train, and the plan offloads what does not fit them";
inline constexpr const char* kNoLoader = "the text is read as it is needed";
inline constexpr const char* kLogged =
    "metrics.jsonl, TensorBoard's files and report.html are always written";
inline constexpr const char* kNoUpload = "nothing is uploaded: `sluice export` writes a folder";
inline constexpr const char* kAllWeights = "all weights are trained: leave it out";
inline constexpr const char* kAdamW = "the optimizer is AdamW";
inline constexpr const char* kVocabulary =
    "the vocabulary is the model's: add tokens to the model's folder first";
inline constexpr const char* kValidation = "the last twentieth of the data is validation";
inline constexpr const char* kAnswers =
    "the loss is on the assistant's answers of every turn: leave it out";
inline constexpr const char* kModelFile = "it is the model's: state it in the model's config.json";
inline constexpr const char* kGenerates = "a run trains: `sluice generate` writes text";
inline constexpr const char* kMeanLoss = "an evaluation is the mean loss";
inline constexpr const char* kNoPicture = "the data are text";

/// The table of each program's keys.
[[nodiscard]] std::span<const ForeignKey> transformers_keys();
[[nodiscard]] std::span<const ForeignKey> llama_factory_keys();
[[nodiscard]] std::span<const ForeignKey> axolotl_keys();
[[nodiscard]] std::span<const ForeignKey> trl_keys();
[[nodiscard]] std::span<const ForeignKey> torchtune_keys();

}  // namespace sluice::planner
