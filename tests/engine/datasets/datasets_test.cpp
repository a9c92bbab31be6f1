#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/datasets/bad_rows.hpp"
#include "engine/datasets/document_cache.hpp"
#include "engine/datasets/mixture.hpp"
#include "engine/datasets/packing.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

TEST(Mixture, OneSetIsItselfWithItsLastTwentiethBehind) {
  const std::vector<MixedSet> one = {{.documents = 40}};
  const MixedOrder order = mixed_order(one);
  EXPECT_EQ(order.training, 38);
  for (std::int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(order.documents[static_cast<std::size_t>(i)], (MixedDocument{0, i}));
  }
}

TEST(Mixture, SetsAreReadAsOftenAsTheirPassesSayAndInProportionEverywhere) {
  const std::vector<MixedSet> sets = {{.documents = 21, .passes = 2.5}, {.documents = 41}};
  const MixedOrder order = mixed_order(sets);
  // 20 of 21 are trained 2.5 times, 39 of 41 once; the other three are validation.
  EXPECT_EQ(order.training, 50 + 39);
  EXPECT_EQ(std::ssize(order.documents), 92);
  std::vector<int> readings(20, 0);
  std::int64_t of_first = 0;
  for (std::int64_t i = 0; i < order.training; ++i) {
    const MixedDocument each = order.documents[static_cast<std::size_t>(i)];
    if (each.set == 0) ++readings[static_cast<std::size_t>(each.document)];
    of_first += each.set == 0 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(of_first), 50.0 * static_cast<double>(i + 1) / 89, 1.0);
  }
  // The half pass takes every other document.
  for (std::size_t i = 0; i < readings.size(); ++i) EXPECT_EQ(readings[i], i % 2 == 0 ? 3 : 2);
  EXPECT_EQ(order.documents[89], (MixedDocument{0, 20}));
  EXPECT_EQ(order.documents[90], (MixedDocument{1, 39}));
}

TEST(Mixture, SharesDrawFromSetsUntilTheFirstOrTheLastHasNoRowsLeft) {
  using planner::Mixture;
  const std::vector<double> shares = {0.7, 0.3};
  const auto readings = [&shares](std::vector<MixedSet> sets, Mixture until) {
    draw_by_shares(sets, shares, until);
    std::vector<std::int64_t> all(2);
    const MixedOrder order = mixed_order(sets);
    for (std::int64_t i = 0; i < order.training; ++i) {
      ++all[static_cast<std::size_t>(order.documents[static_cast<std::size_t>(i)].set)];
    }
    return all;
  };
  // 380 and 19 are trained: 19 / 0.3 = 63.3 draws, or 380 / 0.7 = 542.9.
  const std::vector<MixedSet> sets = {{.documents = 400}, {.documents = 20}};
  EXPECT_EQ(readings(sets, Mixture::first_exhausted), (std::vector<std::int64_t>{44, 19}));
  EXPECT_EQ(readings(sets, Mixture::all_exhausted), (std::vector<std::int64_t>{380, 163}));
  // A set whose passes were stated has as many rows as they read.
  const std::vector<MixedSet> twice = {{.documents = 400}, {.documents = 20, .passes = 2}};
  EXPECT_EQ(readings(twice, Mixture::first_exhausted), (std::vector<std::int64_t>{89, 38}));
  const std::vector<MixedSet> empty = {{.documents = 0}, {.documents = 20}};
  EXPECT_EQ(readings(empty, Mixture::first_exhausted), (std::vector<std::int64_t>{0, 19}));
}

TEST(Mixture, SmallSetsHoldOneDocumentOutAmongThem) {
  const std::vector<MixedSet> sets = {{.documents = 3}, {.documents = 5}, {.documents = 0}};
  const MixedOrder order = mixed_order(sets);
  EXPECT_EQ(order.training, 7);
  EXPECT_EQ(order.documents.back(), (MixedDocument{1, 4}));
}

TEST(BadRows, AreCountedByReasonWithTheFirstPlace) {
  BadRows rows(false);
  rows.add("f:3", "messages[2].content: is empty");
  rows.add("f:5", "messages[0].content: is empty");
  rows.add("f:9", "is not JSON (at byte 94)");
  rows.end_file("f", 20);
  rows.end();
  EXPECT_EQ(left_out_line(rows.left_out()),
            "left out 2 rows (messages[].content is empty), first at f:3; 1 row (is not JSON), "
            "first at f:9");
}

TEST(BadRows, MoreThanHalfOfOneKindRefusesTheFileWithEveryKind) {
  const auto message = [](std::int64_t rows_read, bool strict) {
    BadRows rows(strict);
    rows.add("f:1", "output: is empty");
    rows.add("f:2", "output: is empty");
    rows.add("f:3", "output: must be text");
    try {
      rows.end_file("f", rows_read);
      rows.end();
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(4, false), "");
  EXPECT_EQ(message(3, false),
            "data: f: output is empty (2 of 3 rows, first at f:1, f:2); output must be text (1 of "
            "3 rows, first at f:3)");
  EXPECT_EQ(message(4, true),
            "data: strict: 3 rows would be left out: f:1: output: is empty; f:2: output: is empty; "
            "f:3: output: must be text");
}

TEST(Packing, EveryPieceIsInOneSequenceAndNoneIsTooLong) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(500);
  for (std::int64_t i = 0; i < 500; ++i) lengths.push_back(1 + (i * 7919) % 100);
  const auto sequences = packed(lengths, 100);
  std::vector<int> seen(lengths.size());
  for (const auto& sequence : sequences) {
    std::int64_t taken = 0;
    for (const std::int64_t piece : sequence) {
      ++seen[static_cast<std::size_t>(piece)];
      taken += lengths[static_cast<std::size_t>(piece)];
    }
    EXPECT_LE(taken, 100);
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](int each) { return each == 1; }));
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  EXPECT_LE(std::ssize(sequences), total / 100 + 3);
}

TEST(Packing, APieceGoesWhereTheLeastRoomIsLeft) {
  using Sequences = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(packed(std::vector<std::int64_t>{7, 8, 2, 3}, 10), (Sequences{{0, 3}, {1, 2}}));
  EXPECT_EQ(packed(std::vector<std::int64_t>{10, 10}, 10), (Sequences{{0}, {1}}));
  EXPECT_TRUE(packed({}, 10).empty());
}

TEST(DocumentCache, HoldsDocumentsAndIsMadeAnewWhereItIsNotWhole) {
  const ScratchFolder folder;
  const auto file = folder.path() / "kept.documents";
  int made = 0;
  const auto make = [&made](const DocumentCache::AddDocument& add) {
    ++made;
    add(std::vector<LearntToken>{1, ~2, 3});
    add(std::vector<LearntToken>{});
    add(std::vector<LearntToken>{4});
    return std::string("made\n");
  };
  for (int time = 0; time < 2; ++time) {
    const DocumentCache cache(file, make);
    EXPECT_EQ(cache.documents(), 3);
    EXPECT_EQ(std::vector<LearntToken>(cache.tokens().begin(), cache.tokens().end()),
              (std::vector<LearntToken>{1, ~2, 3, 4}));
    EXPECT_EQ(cache.start(1), 3);
    EXPECT_EQ(cache.start(2), 3);
    EXPECT_EQ(cache.start(3), 4);
    EXPECT_EQ(cache.note(), "made\n");
    EXPECT_EQ(made, 1);
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(DocumentCache(file, make).documents(), 3);
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace sluice::engine::test
