#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "planner/kernels/table.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

class KernelTableFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("kernel_table_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  KernelTable gemms(const std::string& text) const {
    return read_kernel_table(write("t.csv", text), KernelKind::gemm, Latency::required);
  }
  std::vector<bool> split(const std::string& text, KernelKind kind = KernelKind::gemm) const {
    const KernelTable table =
        kind == KernelKind::gemm
            ? gemms("m,n,k,latency\n1,2,3,1\n4,5,6,1\n7,8,9,1\n")
            : read_kernel_table(
                  write("a.csv",
                        "batch_size,isl,num_heads,num_key_value_heads,head_dim,latency\n"
                        "1,512,8,0,64,1\n2,512,8,8,64,1\n"),
                  kind, Latency::required);
    return read_split(write("s.txt", text), kind, table);
  }

  std::filesystem::path folder_;
};

using Rows = std::vector<bool>;

TEST_F(KernelTableFile, ReadsColumnsInAnyOrderAndLeavesOthersOut) {
  const KernelTable table = gemms(
      "\xef\xbb\xbf"
      "device,latency,k,extra,n,m\r\n\"GPU, big\", 2.5 ,3,x,2,1\r\n\n");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.device, "GPU, big");
  EXPECT_EQ(table.rows[0].line, 2u);
  EXPECT_EQ(table.rows[0].shape, shape_of(Gemm{1, 2, 3}));
  EXPECT_DOUBLE_EQ(table.rows[0].time->count(), 2.5e-3) << "latency is in milliseconds";
}

TEST_F(KernelTableFile, MarksRowsOfOtherTypesAndLaterSteps) {
  const KernelTable table = read_kernel_table(
      write("a.csv",
            "batch_size,isl,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,step,latency\n"
            "1,512,8,0,64,bfloat16,0,1\n1,512,8,2,64,fp8,0,1\n1,512,8,2,64,bfloat16,64,1\n"),
      KernelKind::attention, Latency::required);
  EXPECT_TRUE(table.rows[0].modelled);
  EXPECT_FALSE(table.rows[1].modelled);
  EXPECT_FALSE(table.rows[2].modelled);
  EXPECT_EQ(table.rows[0].shape.size[3], 8) << "0 key-value heads: as many as heads";
  EXPECT_EQ(measured_rows(table, Rows(3, true)).size(), 1u);
}

TEST_F(KernelTableFile, RefusalsNameFileLineColumnAndFix) {
  EXPECT_REFUSED(gemms(""), "t.csv: line 1: the table is empty");
  EXPECT_REFUSED(gemms("m,n,latency\n"), "t.csv: line 1, column k: is missing from the header");
  EXPECT_REFUSED(gemms("m,n,k,latencies\n"), "did you mean \"latencies\"");
  EXPECT_REFUSED(gemms("m,n,k,latency\n1,2,3,1\n1,2,x,1\n"),
                 "t.csv: line 3, column k: \"x\" must be a positive whole number: correct");
  EXPECT_REFUSED(gemms("m,n,k,latency\n1,2.5,3,1\n"), "line 2, column n: \"2.5\"");
  EXPECT_REFUSED(gemms("m,n,k,latency\n0,2,3,1\n"), "line 2, column m: \"0\"");
  EXPECT_REFUSED(gemms("m,n,k,latency\n1,2,3,-1\n"), "line 2, column latency: \"-1\" must be a");
  EXPECT_REFUSED(gemms("m,n,k,latency\n1,2,3,nan\n"), "line 2, column latency: \"nan\"");
  EXPECT_REFUSED(gemms("m,n,k,latency\n1,2,3\n"), "line 2, column latency: 3 cells under 4");
  EXPECT_REFUSED(gemms("m,n,k,latency\n1,2,3,4,5\n"), "line 2, column latency: 5 cells under 4");
  EXPECT_REFUSED(read_kernel_table("gone.csv", KernelKind::gemm, Latency::required),
                 "gone.csv: cannot be read");
  EXPECT_REFUSED(read_kernel_table(folder_.string(), KernelKind::gemm, Latency::required),
                 "is a folder");
}

TEST_F(KernelTableFile, RefusesTwoColumnsThatSayTheSame) {
  EXPECT_REFUSED(gemms("m,n,n,k,latency\n1,2,2,3,1\n"), "t.csv: line 1, column n: is there twice");
  EXPECT_REFUSED(gemms("m,n,k,latency,latency\n1,2,3,1,1\n"), "column latency: is there twice");
  EXPECT_REFUSED(gemms("m,n,k,latency,time_s\n1,2,3,1,1\n"),
                 "column time_s: says what column latency does: remove or rename");
  EXPECT_REFUSED(split("m,k,k,n\n1,2,2,3\n"), "s.txt: line 1, column k: is there twice");
  EXPECT_EQ(gemms("m,n,k,x,x,latency\n1,2,3,4,5,1\n").rows.size(), 1u) << "read by nothing";
}

TEST_F(KernelTableFile, RefusesHeadsThatKeyValueHeadsDoNotDivide) {
  const std::string header = "batch_size,isl,heads,kv_heads,head_dim\n";
  const auto attention = [&](const std::string& text) {
    return read_kernel_table(write("a.csv", header + text), KernelKind::attention,
                             Latency::optional);
  };
  EXPECT_REFUSED(attention("1,512,8,3,64\n"),
                 "line 2, column num_key_value_heads: \"3\" must divide the row's heads, 8");
  EXPECT_REFUSED(attention("1,512,8,16,64\n"), "\"16\" must divide");
  EXPECT_EQ(attention("1,512,8,8,64\n1,512,8,2,64\n1,512,8,0,64\n").rows.size(), 3u);
}

TEST_F(KernelTableFile, RefusesDamagedGzip) {
  const std::string path =
      write("t.csv.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage", 17));
  EXPECT_REFUSED(read_kernel_table(path, KernelKind::gemm, Latency::required), "damaged");
}

TEST_F(KernelTableFile, ASplitNamesRowsShapesOrWords) {
  const Rows first_and_last = {true, false, true};
  EXPECT_EQ(split("0\n2\n"), first_and_last);
  EXPECT_EQ(split("# half\n\n1,2,3\n7,8,9\n"), first_and_last);
  EXPECT_EQ(split("1 2 3\n7x8x9\n"), first_and_last);
  EXPECT_EQ(split("k,m,n\n3,1,2\n9,7,8\n"), first_and_last);
  EXPECT_EQ(split("train\ntest\ntrain\n"), first_and_last);
  EXPECT_EQ(split("1,512,8,0,64\n", KernelKind::attention), (Rows{true, false}));
  EXPECT_EQ(split("2,512,8,8,64,0\n", KernelKind::attention), (Rows{false, true}));
}

TEST_F(KernelTableFile, SplitRefusalsNameTheLine) {
  EXPECT_REFUSED(split("0\n3\n"), "s.txt: line 2: row 3 is beyond the 3 rows");
  EXPECT_REFUSED(split("1,2,4\n"), "s.txt: line 1: ");
  EXPECT_REFUSED(split("1,2\n"), "neither a row number nor a shape (m,n,k)");
  EXPECT_REFUSED(split("0\nhalf\n"), "s.txt: line 2: \"half\"");
  EXPECT_REFUSED(split("train\ntest\n"), "has 2 lines of train or test");
  EXPECT_REFUSED(split("train\ntest\nboth\n"), "s.txt: line 3: \"both\"");
  EXPECT_REFUSED(split("\n# nothing\n"), "names no row");
  EXPECT_REFUSED(split("shapes\n1,2,3\n"), "column m: is missing");
}

}  // namespace
}  // namespace sluice::planner
