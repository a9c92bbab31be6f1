#include "engine/datasets/npy_header.hpp"

#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "tests/engine/datasets/npy_file.hpp"

namespace sluice::engine::test {
namespace {

NpyHeader header_of(const std::string& file) {
  return read_npy_header(std::as_bytes(std::span(file)), "f.npy");
}

TEST(NpyHeader, StatesTypeShapeAndWhereTheValuesBegin) {
  const NpyHeader one = header_of(npy_header("<u2", "(7,)"));
  EXPECT_EQ(one.type, "<u2");
  EXPECT_EQ(one.shape, (std::vector<std::int64_t>{7}));
  EXPECT_FALSE(one.fortran_order);
  EXPECT_EQ(one.bytes % 64, 0);
  const NpyHeader two = header_of(npy_header("<i8", "(3, 5)", "True"));
  EXPECT_EQ(two.shape, (std::vector<std::int64_t>{3, 5}));
  EXPECT_TRUE(two.fortran_order);
  EXPECT_TRUE(header_of(npy_header("<i8", "()")).shape.empty());
  // Python 2 wrote long integers with an L.
  EXPECT_EQ(header_of(npy_header("<i8", "(3L, 5L)")).shape, (std::vector<std::int64_t>{3, 5}));
}

TEST(NpyHeader, AnotherVersionHasALongerLength) {
  std::string file = npy_header("<i4", "(2,)");
  const std::string dictionary = file.substr(10);
  file = std::string("\x93NUMPY\x02\0", 8) + static_cast<char>(dictionary.size());
  file += std::string("\0\0\0", 3) + dictionary;
  EXPECT_EQ(header_of(file).shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(header_of(file).bytes, 12 + std::ssize(dictionary));
}

TEST(NpyHeader, WhatIsNoneIsRefusedByWhatItIs) {
  const auto refused = [](const std::string& file) {
    try {
      (void)header_of(file);
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_EQ(refused(""), "f.npy: is no .npy file: write it with numpy.save");
  EXPECT_EQ(refused("12 13 14 15 16 17 18"), "f.npy: is no .npy file: write it with numpy.save");
  EXPECT_EQ(refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
            "f.npy: is a Git LFS pointer: fetch the file with git lfs pull");
  EXPECT_EQ(refused(npy_header("<i4", "(2,)").substr(0, 40)), "f.npy: the .npy file is cut short");
  const std::string damaged = "f.npy: the header of the .npy file is damaged";
  EXPECT_EQ(refused(npy_header("<i4", "(2, x)")), damaged);
  EXPECT_EQ(refused(npy_header("<i4", "(-2,)")), damaged);
  EXPECT_EQ(refused(npy_header("<i4", "3")), damaged);
  EXPECT_EQ(refused(npy_header("<i4", "(99999999999999999999,)")), damaged);
  std::string records = npy_header("<i4", "(2,)");
  records.replace(records.find("'<i4'"), 5, "[('a'");
  EXPECT_NE(refused(records).find("records with fields"), std::string::npos);
  std::string nameless = npy_header("<i4", "(2,)");
  nameless.replace(nameless.find("'shape'"), 7, "'shapf'");
  EXPECT_EQ(refused(nameless), damaged);
}

}  // namespace
}  // namespace sluice::engine::test
