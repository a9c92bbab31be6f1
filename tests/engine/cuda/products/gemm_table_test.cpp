// The GEMM table's pure parts, on any computer: which products a job makes, what a table keeps and
// refuses, and which of measured algorithms is chosen.
#include "engine/cuda/products/gemm_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>

#include "engine/cuda/products/gemm_choice.hpp"
#include "planner/catalogue/store.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine {
namespace {

constexpr Seconds kFailed{std::numeric_limits<double>::infinity()};

planner::Job small_job() {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.family = planner::Family::qwen2;
  shape.layers = 3;
  shape.hidden = 128;
  shape.intermediate = 320;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.head_dim = 64;
  shape.vocab = 512;
  shape.qkv_bias = true;
  job.seq_len = 96;
  job.batch_size = 2;
  job.micro_batch = 1;
  job.loss_chunk = 64;
  return job;
}

GemmTableId some_gpu() {
  return {.gpu = "NVIDIA H200",
          .compute_capability = "9.0",
          .multiprocessors = 132,
          .cublaslt = 130100,
          .workspace = Bytes(64 << 20)};
}

GemmEntry entry(std::uint64_t seed, Seconds time = Seconds(1e-3)) {
  GemmEntry entry{.configuration = "id 66", .time = time, .first_time = time * 1.25};
  for (std::uint64_t& word : entry.algorithm.words) word = seed = seed * 6364136223846793005U + 1;
  entry.suggestion = 3;
  entry.suggestions = 16;
  return entry;
}

constexpr GemmKey kForward{GemmProduct::forward, 4096, 3584, 4608, true, false};
constexpr GemmKey kGradient{GemmProduct::weight_gradient, 4096, 3584, 4608, false, true};

GemmTable small_table() {
  GemmTable table(some_gpu());
  table.add(kForward, entry(1));
  table.add(kGradient, entry(2, Seconds(0.1 + 0.2)));
  return table;
}

std::string refusal(const std::string& text, const GemmTableId& id) {
  try {
    static_cast<void>(gemm_table_from_json(text, "folder/table.json", id));
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "not refused";
}

void expect_refused(const std::string& text, const std::string& reason,
                    const GemmTableId& id = some_gpu()) {
  const std::string line = refusal(text, id);
  EXPECT_EQ(line.rfind("folder/table.json", 0), 0U) << line;
  EXPECT_NE(line.find(reason), std::string::npos) << line;
  EXPECT_NE(line.find("delete the file"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

std::string with(std::string text, const std::string& part, const std::string& replacement) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), replacement);
}

TEST(GemmKeys, AreTheProductsOfABlockAndOfTheHeadsChunksOnce) {
  // 96 tokens: chunks of 64 and 32. q k v: 128 + 2 x 64 columns, with bias; gate and up: 640.
  const std::vector<GemmKey> keys = gemm_keys(small_job());
  std::vector<GemmKey> expected;
  const auto expect = [&](std::int64_t tokens, std::int64_t in, std::int64_t out, bool bias,
                          bool adds) {
    expected.push_back({GemmProduct::forward, tokens, in, out, bias, adds});
    expected.push_back({GemmProduct::input_gradient, tokens, in, out, false, false});
    expected.push_back({GemmProduct::weight_gradient, tokens, in, out, false, false});
    expected.push_back({GemmProduct::weight_gradient, tokens, in, out, false, true});
  };
  expect(96, 128, 256, true, false);
  expect(96, 128, 128, false, true);
  expect(96, 128, 640, false, false);
  expect(96, 320, 128, false, true);
  expect(64, 128, 512, false, false);
  expect(32, 128, 512, false, false);
  std::ranges::sort(expected);
  EXPECT_EQ(keys, expected);
}

TEST(GemmKeys, OfAJobWhoseChunksDivideItsTokensHaveNoShorterChunk) {
  planner::Job job = small_job();
  job.loss_chunk = 48;
  EXPECT_EQ(gemm_keys(job).size(), 5U * 4);
  job.loss_chunk = 1000;  // One chunk of all 96 tokens.
  EXPECT_EQ(gemm_keys(job).size(), 5U * 4);
}

TEST(GemmKeys, OfAGatedDeltaNetAreAllItsProjectionsInOneAndTheOneBehind) {
  planner::Job job = small_job();
  job.loss_chunk = 96;
  job.model.qkv_bias = false;
  job.model.kinds = {{.rotary = std::nullopt, .mixer = planner::Mixer::gated_delta_net}};
  job.model.delta_net =
      planner::DeltaNet{.key_heads = 2, .value_heads = 4, .key_dim = 16, .value_dim = 32};
  const std::vector<GemmKey> keys = gemm_keys(job);
  EXPECT_EQ(keys.size(), 5U * 4);
  // q, k: 32 each; v and the gate: 128 each; rates and decays: 4 each.
  for (const GemmKey& key : {GemmKey{GemmProduct::forward, 96, 128, 328, false, false},
                             GemmKey{GemmProduct::forward, 96, 128, 128, false, true}}) {
    EXPECT_EQ(std::ranges::count(keys, key), 1) << to_string(key);
  }
}

TEST(GemmKeys, OfLatentAttentionAreNarrowProjectionsAndThoseOfTheirNorms) {
  planner::Job job = small_job();
  job.loss_chunk = 96;
  job.model.qkv_bias = false;
  job.model.kv_heads = 2;
  job.model.latent = planner::LatentAttention{
      .query_rank = 96, .rank = 32, .plain = 40, .rotated = 24, .value = 56};
  const std::vector<GemmKey> keys = gemm_keys(job);
  EXPECT_EQ(keys.size(), 9U * 4);
  // The token has 96 for queries, 32 for keys and values, 24 that heads share; of these, two heads
  // of 64, and of 40 + 56 together; and the heads' values back to the token.
  for (const GemmKey& key : {GemmKey{GemmProduct::forward, 96, 128, 96, false, false},
                             GemmKey{GemmProduct::forward, 96, 128, 32, false, false},
                             GemmKey{GemmProduct::forward, 96, 128, 24, false, false},
                             GemmKey{GemmProduct::forward, 96, 96, 128, false, false},
                             GemmKey{GemmProduct::forward, 96, 32, 192, false, false},
                             GemmKey{GemmProduct::forward, 96, 112, 128, false, true}}) {
    EXPECT_EQ(std::ranges::count(keys, key), 1) << to_string(key);
  }
}

TEST(GemmKeys, OfAnMlpInChunksAreThoseOfAChunkAndOfTheRest) {
  planner::Job job = small_job();
  job.loss_chunk = 96;
  job.mlp_chunk = 64;  // 64 and 32 of 96 tokens; q k v, o and the head at once.
  const std::vector<GemmKey> keys = gemm_keys(job);
  EXPECT_EQ(keys.size(), 7U * 4);
  for (const std::int64_t tokens : {64, 32}) {
    for (const GemmKey& key : {GemmKey{GemmProduct::forward, tokens, 128, 640, false, false},
                               GemmKey{GemmProduct::forward, tokens, 320, 128, false, true}}) {
      EXPECT_EQ(std::ranges::count(keys, key), 1) << to_string(key);
    }
  }
}

TEST(GemmKeys, SayTheirOperandsSizesInTheLibrarysOrder) {
  const auto expect = [](GemmProduct product, std::int64_t a, std::int64_t b, std::int64_t d) {
    const GemmElements elements = elements_of({product, 2, 3, 5, false, false});
    EXPECT_EQ(elements.a, a) << to_string(product);
    EXPECT_EQ(elements.b, b) << to_string(product);
    EXPECT_EQ(elements.d, d) << to_string(product);
  };
  expect(GemmProduct::forward, 15, 6, 10);          // W x: [2, 5]
  expect(GemmProduct::input_gradient, 15, 10, 6);   // W d_y: [2, 3]
  expect(GemmProduct::weight_gradient, 6, 10, 15);  // x d_y: [5, 3]
  EXPECT_EQ(kForward.work().count(), 2.0 * 4096 * 3584 * 4608);
}

TEST(GemmTable, ReadsBackWhatItWrote) {
  const GemmTable table = small_table();
  const GemmTable again = gemm_table_from_json(to_json_text(table), "table", some_gpu());
  ASSERT_EQ(again.entries().size(), 2U);
  for (const auto& [key, written] : table.entries()) {
    const GemmEntry* read = again.find(key);
    ASSERT_NE(read, nullptr) << to_string(key);
    EXPECT_EQ(read->algorithm, written.algorithm);
    EXPECT_EQ(read->configuration, written.configuration);
    EXPECT_EQ(read->time, written.time);
    EXPECT_EQ(read->first_time, written.first_time);
    EXPECT_EQ(read->suggestion, 3);
    EXPECT_EQ(read->suggestions, 16);
  }
  EXPECT_EQ(to_json_text(again), to_json_text(table));
}

TEST(GemmTable, NeverReplacesWhatItHas) {
  GemmTable table = small_table();
  table.add(kForward, entry(9, Seconds(1e-6)));
  EXPECT_EQ(table.find(kForward)->algorithm, entry(1).algorithm);
}

TEST(GemmTable, SaysWhichProductsAreMissing) {
  GemmKey other = kForward;
  other.bias = false;
  const std::vector<GemmKey> wanted{kForward, other, kGradient};
  EXPECT_EQ(small_table().missing(wanted), std::vector<GemmKey>{other});
  EXPECT_EQ(GemmTable(some_gpu()).missing(wanted), wanted);
}

TEST(GemmTable, HashesTheAlgorithmsOfTheProductsAskedForAlone) {
  GemmTable table = small_table(), retimed(some_gpu()), other(some_gpu());
  const std::vector<GemmKey> one{kForward};
  retimed.add(kForward, entry(1, Seconds(5)));
  other.add(kForward, entry(7));
  EXPECT_EQ(retimed.algorithms_hash(one), table.algorithms_hash(one));
  EXPECT_NE(other.algorithms_hash(one), table.algorithms_hash(one));
  EXPECT_NE(table.algorithms_hash(), table.algorithms_hash(one));
  EXPECT_THROW(static_cast<void>(other.algorithms_hash(std::vector<GemmKey>{kGradient})),
               std::logic_error);
}

TEST(GemmTable, RefusesADamagedFileInOneLineWithTheFix) {
  const std::string text = to_json_text(small_table());
  expect_refused(text.substr(0, text.size() / 2), "line");
  expect_refused("", "line");
  expect_refused(with(text, "gemm-table/1", "gemm-table/2"), "schema");
  expect_refused(with(text, "\"weight_gradient\"", "\"weight_gradients\""), "did you mean");
  expect_refused(with(text, "\"tokens\": 4096", "\"tokens\": 4095"), "algorithms_sha256");
  const std::size_t digit = text.find("\"algorithm\": \"") + 20;
  std::string changed = text;
  changed[digit] = changed[digit] == '0' ? '1' : '0';
  expect_refused(changed, "algorithms_sha256");
  changed[digit] = 'x';
  expect_refused(changed, "hexadecimal");
}

TEST(GemmTable, RefusesAnotherGpusOrLibrarysFile) {
  const std::string text = to_json_text(small_table());
  for (const auto& change : std::vector<std::function<void(GemmTableId&)>>{
           [](GemmTableId& id) { id.gpu = "NVIDIA H100 80GB HBM3"; },
           [](GemmTableId& id) { id.compute_capability = "10.0"; },
           [](GemmTableId& id) { id.multiprocessors = 114; },
           [](GemmTableId& id) { id.cublaslt = 130101; },
           [](GemmTableId& id) { id.workspace = Bytes(32 << 20); }}) {
    GemmTableId other = some_gpu();
    change(other);
    expect_refused(text, "another GPU or library", other);
    EXPECT_NE(gemm_table_file("store", other), gemm_table_file("store", some_gpu()));
  }
}

TEST(GemmTableFile, IsNamedByGpuAndLibrary) {
  const std::string name = gemm_table_file("store", some_gpu()).string();
  EXPECT_EQ(name.rfind("store/gemm/NVIDIA-H200-cublaslt130100-", 0), 0U) << name;
}

TEST(GemmTableFile, IsEmptyWhereThereIsNoneAndKeepsWhatIsWritten) {
  const test::ScratchFolder folder;
  const auto file = gemm_table_file(folder.path(), some_gpu());
  EXPECT_TRUE(read_gemm_table(file, some_gpu()).entries().empty());
  write_gemm_table(small_table(), file);
  EXPECT_EQ(to_json_text(read_gemm_table(file, some_gpu())), to_json_text(small_table()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1)
      << "nothing but the table is left behind";
  std::ofstream(file) << "{";
  EXPECT_THROW(static_cast<void>(read_gemm_table(file, some_gpu())), BadRequest);
}

TEST(GemmChoice, TakesTheFastest) {
  const std::vector<Seconds> times{Seconds(1.2), Seconds(1.1), Seconds(1.0), Seconds(1.05)};
  EXPECT_EQ(choose(times), 2U);
}

TEST(GemmChoice, GivesATieToTheLibrarysFavourite) {
  // 1.009 is within 1 % of the best, 1.02 is not.
  EXPECT_EQ(choose(std::vector<Seconds>{Seconds(1.02), Seconds(1.009), Seconds(1.0)}), 1U);
  EXPECT_EQ(choose(std::vector<Seconds>{Seconds(1.0), Seconds(1.0)}), 0U);
}

TEST(GemmChoice, NeverTakesWhatFailed) {
  EXPECT_EQ(choose(std::vector<Seconds>{kFailed, Seconds(3), kFailed}), 1U);
  EXPECT_THROW(static_cast<void>(choose(std::vector<Seconds>{kFailed, kFailed})), EnvironmentError);
}

TEST(GemmChoice, MeasuresAgainWhatMayWinAndTheFirst) {
  const std::vector<Seconds> times{Seconds(2.0), Seconds(1.0), Seconds(1.11), Seconds(1.09),
                                   kFailed};
  EXPECT_EQ(finalists(times), (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_EQ(finalists(std::vector<Seconds>{kFailed, Seconds(1)}), std::vector<std::size_t>{1});
  EXPECT_THROW(static_cast<void>(finalists(std::vector<Seconds>{kFailed})), EnvironmentError);
}

TEST(GemmChoice, AdmitsSumsMadeInOneSequenceOnly) {
  EXPECT_TRUE(admissible({}));
  EXPECT_TRUE(admissible({.id = 66, .tile = 20, .stages = 35, .swizzle = 1, .cluster_shape = 3}));
  for (const std::uint32_t scheme : {1U, 2U, 4U}) {
    EXPECT_FALSE(admissible({.split_k = 2, .reduction = scheme})) << scheme;
    EXPECT_FALSE(admissible({.split_k = 1, .reduction = scheme})) << scheme;
  }
  EXPECT_FALSE(admissible({.split_k = 2}));
}

TEST(GemmChoice, MedianIsTheMiddle) {
  EXPECT_EQ(median({Seconds(3), Seconds(1), Seconds(2)}), Seconds(2));
  EXPECT_EQ(median({Seconds(4), Seconds(1), Seconds(2), Seconds(9)}), Seconds(3));
  EXPECT_EQ(median({Seconds(7)}), Seconds(7));
}

}  // namespace
}  // namespace sluice::engine
