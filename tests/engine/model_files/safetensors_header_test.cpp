// Headers of safetensors files: everything that the format allows is read, and everything else
// refused in one clear line.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "engine/model_files/safetensors.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

SafetensorsHeader read_header(const std::string& header, std::size_t data_bytes) {
  return read_safetensors_header(file_of(header, data_bytes), "x.safetensors");
}

std::string refusal_of(const std::vector<std::byte>& bytes) {
  try {
    (void)read_safetensors_header(bytes, "x.safetensors");
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SafetensorsHeader, TensorsHaveTheirTypesShapesAndPlaces) {
  const SafetensorsHeader header = read_header(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
      R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
      R"("none":{"dtype":"F16","shape":[0,7],"data_offsets":[4,4]},)"
      R"("one":{"dtype":"I64","shape":[],"data_offsets":[28,36]}}   )",
      36);
  EXPECT_EQ(header.metadata.at("format"), "pt");
  EXPECT_EQ(header.tensors.size(), 4u);
  EXPECT_EQ(header.tensors.at("a").type, ElementType::bf16);
  EXPECT_EQ(header.tensors.at("b").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header.tensors.at("b").begin, 4u);
  EXPECT_EQ(header.tensors.at("none").elements(), 0);
  EXPECT_EQ(header.tensors.at("one").elements(), 1);
  EXPECT_EQ(header.tensors.at("one").type, std::nullopt);
}

TEST(SafetensorsHeader, AFileWithoutTensorsIsAFile) {
  EXPECT_TRUE(read_header("{}", 0).tensors.empty());
}

struct Refused {
  const char* header;
  std::size_t data_bytes;
  const char* reason;
};

TEST(SafetensorsHeader, WhatIsWrongIsNamed) {
  const Refused cases[] = {
      {R"([1])", 0, "x.safetensors: its header is not a JSON object"},
      {R"({"a")", 0, "x.safetensors: header: is not JSON"},
      {R"({"a":1})", 0, "x.safetensors: tensor a: is not an object"},
      {R"({"a":{}})", 0, "tensor a: dtype is missing"},
      {R"({"a":{"dtype":4}})", 0, "tensor a: dtype must be a string"},
      {R"({"a":{"dtype":"F32"}})", 0, "tensor a: shape is missing"},
      {R"({"a":{"dtype":"F32","shape":3}})", 0, "tensor a: shape must be a list"},
      {R"({"a":{"dtype":"F32","shape":[-1]}})", 0, "tensor a: shape must hold whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[1.5]}})", 0, "tensor a: shape must hold whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[99999999999999999999]}})", 0, "shape must hold whole"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "tensor a: data_offsets is missing"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "must be two numbers"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "run backwards"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3, "the file is cut short"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
       "takes 4 bytes, and its shape and dtype need 8"},
      {R"({"a":{"dtype":"Q9","shape":[1],"data_offsets":[0,4]}})", 4, "dtype \"Q9\" is unknown"},
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2, "a whole byte"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,4]}})", 4,
       "larger than any file"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
       6, "tensor b: overlaps the one before it"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}})",
       10, "tensor b: leaves a hole before it"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5,
       "the file is longer than its header says"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}})", 4,
       "\"a\" is given twice"},
      {R"({"__metadata__":3})", 0, "__metadata__ is not an object"},
      {R"({"__metadata__":{"a":3}})", 0, "__metadata__: \"a\" is not a string"},
      {R"({"a":{"dtype":"F32","shape":[[[[1]]]]}})", 0, "nests deeper than"},
  };
  for (const Refused& each : cases) {
    const std::string said = refusal_of(file_of(each.header, each.data_bytes));
    EXPECT_NE(said.find(each.reason), std::string::npos) << each.header << "\n  " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST(SafetensorsHeader, ALengthThatCannotBeIsRefusedBeforeAnythingIsRead) {
  EXPECT_NE(refusal_of(std::vector<std::byte>(7)).find("it holds 7 bytes"), std::string::npos);
  EXPECT_NE(refusal_of(std::vector<std::byte>(8, std::byte{0xff})).find("more than the format"),
            std::string::npos);
  std::vector<std::byte> short_one = file_of("{}", 0);
  short_one[0] = std::byte{3};
  EXPECT_NE(refusal_of(short_one).find("longer than the file"), std::string::npos);
}

}  // namespace
}  // namespace sluice::engine
