#include "engine/datasets/token_ids.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "sim/error.hpp"
#include "tests/engine/datasets/npy_file.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

using planner::Packing;

std::string refused_with(const std::function<void()>& call) {
  try {
    call();
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "nothing was refused";
}

void expect_refused(const std::function<void()>& call, const std::string& part) {
  const std::string message = refused_with(call);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

template <class T>
std::vector<T> counted(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

/// Inputs and targets of a validation window.
struct Window {
  std::vector<std::int32_t> inputs, targets;
  friend bool operator==(const Window&, const Window&) = default;
};

Window validation_window(TokenIds& data, std::int64_t index) {
  Window window{std::vector<std::int32_t>(static_cast<std::size_t>(data.seq_len())), {}};
  window.targets.resize(window.inputs.size());
  data.read_validation(index, window.inputs, window.targets);
  return window;
}

/// All training windows of the first epoch, in the order of their first inputs.
std::vector<Window> training_windows(TokenIds& data) {
  std::vector<Window> windows;
  for (std::int64_t position = 0; position < data.training_windows(); ++position) {
    Window window{std::vector<std::int32_t>(static_cast<std::size_t>(data.seq_len())), {}};
    window.targets.resize(window.inputs.size());
    data.read(position, window.inputs, window.targets);
    windows.push_back(std::move(window));
  }
  std::ranges::sort(windows, {}, &Window::inputs);
  return windows;
}

TEST(TokenIds, EveryIntegerTypeOfOneRowIsTheSameStream) {
  const ScratchFolder folder;
  const auto file = [&](const char* name) { return folder.path() / name; };
  const std::string shape = "(101,)";
  const std::vector<std::filesystem::path> files = {
      write_npy(file("a.npy"), "<i2", shape, counted<std::int16_t>(101)),
      write_npy(file("b.npy"), "<u2", shape, counted<std::uint16_t>(101)),
      write_npy(file("c.npy"), "<i4", shape, counted<std::int32_t>(101)),
      write_npy(file("d.npy"), "<u4", shape, counted<std::uint32_t>(101)),
      write_npy(file("e.npy"), "<i8", shape, counted<std::int64_t>(101)),
      write_npy(file("f.npy"), "<u8", shape, counted<std::uint64_t>(101)),
      write_npy(file("g.npy"), "|u1", shape, counted<std::uint8_t>(101)),
      write_bytes(file("h.bin"), bytes_of_values(counted<std::uint16_t>(101)))};
  for (const auto& ids : files) {
    TokenIds data({.ids = ids}, Packing::automatic, 10, 1);
    EXPECT_EQ(data.training_windows(), 9) << ids;
    EXPECT_EQ(data.tokens(), 101) << ids;
    EXPECT_EQ(data.vocabulary(), 101) << ids;
    EXPECT_NEAR(data.unigram_entropy(), std::log(101.0), 1e-12) << ids;
    const Window last = validation_window(data, 0);
    EXPECT_EQ(last.inputs.front(), 90) << ids;
    EXPECT_EQ(last.targets.back(), 100) << ids;
    for (const Window& each : training_windows(data)) {
      EXPECT_EQ(each.targets.front(), each.inputs.front() + 1) << ids;
    }
  }
  const auto wide = write_bytes(file("w.bin"), bytes_of_values(counted<std::uint32_t>(101)));
  TokenIds data({.ids = wide, .raw_type = IntegerType::uint32}, Packing::automatic, 10, 1);
  EXPECT_EQ(validation_window(data, 0).targets.back(), 100);
}

TEST(TokenIds, RowsAreDocumentsAndWhatIsBehindThemIsPadding) {
  const ScratchFolder folder;
  for (const std::int32_t padding : {-1, -100}) {
    const auto p = padding;
    const auto ids = write_npy<std::int32_t>(folder.path() / "rows.npy", "<i4", "(3, 4)",
                                             {1, 2, 3, p, 4, 5, p, p, 6, 7, 8, 9});
    TokenIds apart({.ids = ids}, Packing::automatic, 4, 1);
    EXPECT_EQ(training_windows(apart), (std::vector<Window>{{{1, 2, 0, 0}, {2, 3, -1, -1}},
                                                            {{4, 0, 0, 0}, {5, -1, -1, -1}}}));
    EXPECT_EQ(validation_window(apart, 0), (Window{{6, 7, 8, 0}, {7, 8, 9, -1}}));
    TokenIds packed({.ids = ids}, Packing::documents, 4, 1);
    EXPECT_EQ(training_windows(packed), (std::vector<Window>{{{~1, 2, ~4, ~0}, {2, 3, 5, -1}}}));
    EXPECT_NE(packed.hash(), apart.hash());
  }
}

TEST(TokenIds, AMaskSaysWhatIsLearntAndRowsWithoutAnyAreLeftOut) {
  const ScratchFolder folder;
  const auto ids = write_npy<std::uint16_t>(folder.path() / "rows.npy", "<u2", "(4, 3)",
                                            {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  TokenIds all({.ids = ids}, Packing::off, 2, 1);
  // A first token is never a target, so that the second row has nothing to learn.
  write_npy<std::uint8_t>(folder.path() / "rows.mask.npy", "|b1", "(4, 3)",
                          {0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0});
  TokenIds masked({.ids = ids}, Packing::off, 2, 1);
  EXPECT_EQ(training_windows(masked), (std::vector<Window>{{{1, 2}, {-100, 3}}, {{7, 8}, {8, 9}}}));
  EXPECT_EQ(validation_window(masked, 0), (Window{{10, 11}, {11, -100}}));
  EXPECT_NE(masked.hash(), all.hash());
  EXPECT_NE(masked.description().find("1 left out: nothing to learn"), std::string::npos);
  const auto elsewhere = write_npy<std::int64_t>(folder.path() / "m.npy", "<i8", "(4, 3)",
                                                 {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  TokenIds given({.ids = ids, .mask = elsewhere}, Packing::off, 2, 1);
  EXPECT_EQ(training_windows(given), training_windows(all));
}

TEST(TokenIds, WindowsOfAStreamThatTheMaskLeavesNothingOfAreLeftOut) {
  const ScratchFolder folder;
  const auto ids = write_npy(folder.path() / "a.npy", "<i4", "(101,)", counted<std::int32_t>(101));
  std::vector<std::uint8_t> mask(101);
  for (std::size_t token = 30; token < 101; ++token) mask[token] = token > 70 ? 0 : 1;
  write_npy(folder.path() / "a.mask.npy", "|u1", "(101,)", mask);
  TokenIds data({.ids = ids}, Packing::automatic, 10, 1);
  // Targets of window w are tokens 10 w + 1 to 10 w + 10: window 2 has token 30, window 6 token 70.
  EXPECT_EQ(data.left_out_windows(), 5);
  EXPECT_EQ(data.training_windows(), 4);
  EXPECT_EQ(validation_window(data, 0).inputs.front(), 60);
  EXPECT_EQ(training_windows(data).front().targets,
            (std::vector<std::int32_t>{-100, -100, -100, -100, -100, -100, -100, -100, -100, 30}));
  EXPECT_EQ(data.summary(0).learnt_places, 41);
  EXPECT_EQ(data.summary(2).first_rows.size(), 2U);
}

TEST(TokenIds, LongRowsAreCutIntoPiecesOrWithAMaskOff) {
  const ScratchFolder folder;
  const auto ids = write_npy(folder.path() / "a.npy", "<i4", "(2, 10)", counted<std::int32_t>(20));
  TokenIds pieces({.ids = ids}, Packing::off, 4, 1);
  EXPECT_EQ(pieces.training_windows(), 3);  // 9 places make pieces of 4, 4 and 1.
  EXPECT_EQ(pieces.summary(1).used_places, 18);
  write_npy(folder.path() / "a.mask.npy", "|u1", "(2, 10)", std::vector<std::uint8_t>(20, 1));
  TokenIds cut_off({.ids = ids}, Packing::off, 4, 1);
  EXPECT_EQ(cut_off.training_windows(), 1);
  EXPECT_EQ(cut_off.summary(1).cut_off, 2);
}

TEST(TokenIds, AValueThatIsNoTokenIsRefusedByItsPlace) {
  const ScratchFolder folder;
  const auto rows = [&](std::vector<std::int32_t> values) {
    return [&folder, values] {
      const auto ids = write_npy(folder.path() / "r.npy", "<i4", "(3, 3)", values);
      TokenIds({.ids = ids}, Packing::automatic, 4, 1);
    };
  };
  expect_refused(rows({1, 2, 3, 4, -1, 6, 7, 8, 9}),
                 "r.npy: row 1, column 2: a token behind padding");
  expect_refused(rows({1, 2, 3, 4, -2, 6, 7, 8, 9}), "r.npy: row 1, column 1: -2 is no token id");
  expect_refused(rows({1, 2, 3, 4, 5, 6, 7, 1 << 24, 9}), "row 2, column 1: token 16777216");
  expect_refused(rows({-1, -1, -1, -1, -1, -1, 7, 8, 9}), "r.npy holds 1 rows to learn");
  const auto line = [&] {
    const auto ids = write_npy<std::int32_t>(folder.path() / "l.npy", "<i4", "(4,)", {5, 6, -1, 7});
    TokenIds({.ids = ids}, Packing::automatic, 1, 1);
  };
  expect_refused(line, "l.npy: token 2: -1 is no token id");
  const auto ids =
      write_npy<std::int32_t>(folder.path() / "v.npy", "<i4", "(2, 3)", {5, 6, 7, 8, 900, 1000});
  const TokenIds data({.ids = ids}, Packing::automatic, 4, 1);
  EXPECT_EQ(data.token_beyond(900), ids.string() + ": row 1, column 1: token 900");
  EXPECT_EQ(data.token_beyond(1001), std::nullopt);
}

TEST(TokenIds, AFileThatHoldsSomethingElseIsRefusedByWhatItHolds) {
  const ScratchFolder folder;
  const auto opens = [&](const std::string& bytes, const char* name = "x.npy") {
    return [&folder, bytes, name] {
      TokenIds({.ids = write_bytes(folder.path() / name, bytes)}, Packing::automatic, 2, 1);
    };
  };
  const std::string ids = bytes_of_values(counted<std::int32_t>(6));
  expect_refused(opens(npy_header("<f4", "(6,)") + ids), "values of type \"<f4\"");
  expect_refused(opens(npy_header("|O", "(6,)") + ids), "Python objects, as for rows of unequal");
  expect_refused(opens(npy_header(">i4", "(6,)") + ids),
                 "big-endian: save it with .astype(\"<i4\")");
  expect_refused(opens(npy_header("<i4", "(3, 2)", "True") + ids), "numpy.ascontiguousarray");
  expect_refused(opens(npy_header("<i4", "(1, 3, 2)") + ids), "has 3 dimensions");
  expect_refused(opens(npy_header("<i4", "()") + ids), "has 0 dimensions");
  expect_refused(opens(npy_header("<i4", "(7,)") + ids), "holds 6 values, fewer than its shape");
  expect_refused(opens(npy_header("<i4", "(4611686018427387904, 4)") + ids), "cut short");
  expect_refused(opens("abc", "x.bin"), "3 bytes are no whole number of values of uint16");
  expect_refused([&] { TokenIds({.ids = folder.path() / "none.npy"}, Packing::automatic, 2, 1); },
                 "there is no file");
}

TEST(TokenIds, PackingAndMaskMustFitTheIds) {
  const ScratchFolder folder;
  const auto line = write_npy(folder.path() / "l.npy", "<i4", "(6,)", counted<std::int32_t>(6));
  const auto rows = write_npy(folder.path() / "r.npy", "<i4", "(2, 3)", counted<std::int32_t>(6));
  expect_refused([&] { TokenIds({.ids = line}, Packing::documents, 2, 1); },
                 "packing: documents needs documents");
  expect_refused([&] { TokenIds({.ids = rows}, Packing::stream, 2, 1); },
                 "packing: stream joins one row of token ids");
  const auto mask = [&](const std::string& shape, std::vector<std::int32_t> values) {
    return write_npy(folder.path() / "m.npy", "<i4", shape, values);
  };
  const auto with = [&](const std::filesystem::path& given) {
    return [&rows, given] { TokenIds({.ids = rows, .mask = given}, Packing::off, 2, 1); };
  };
  expect_refused(with(mask("(3, 2)", {1, 1, 1, 1, 1, 1})), "has 3 x 2 values");
  expect_refused(with(mask("(6,)", {1, 1, 1, 1, 1, 1})), "has 6 values");
  expect_refused(with(mask("(2, 3)", {1, 1, 1, 1, 2, 1})), "row 1, column 1: 2 is neither 0");
  expect_refused(with(folder.path() / "none.npy"), "data_mask: there is no file");
}

}  // namespace
}  // namespace sluice::engine::test
