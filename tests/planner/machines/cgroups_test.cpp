#include "planner/machines/cgroups.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace sluice::planner {
namespace {

/// A system made of files, removed with the test.
class FakeSystem {
 public:
  FakeSystem()
      : root_(std::filesystem::path(testing::TempDir()) /
              ("cgroups-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::remove_all(root_);
  }
  ~FakeSystem() { std::filesystem::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;
  FakeSystem& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  [[nodiscard]] Cgroups cgroups() const { return Cgroups(root_); }

 private:
  std::filesystem::path root_;
};

TEST(Cgroups, NoFilesAreNoLimit) {
  const FakeSystem system;
  EXPECT_FALSE(system.cgroups().memory_limit());
  EXPECT_FALSE(system.cgroups().memory_left());
  EXPECT_FALSE(system.cgroups().cpu_limit());
}

TEST(Cgroups, OfVersion2TheTightestLimitAboveTheProcessCounts) {
  FakeSystem system;
  system.file("proc/self/cgroup", "0::/slurm/job_7/step_0\n")
      .file("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n")
      .file("sys/fs/cgroup/slurm/job_7/memory.max", "4294967296\n")
      .file("sys/fs/cgroup/slurm/job_7/memory.current", "1073741824\n")
      .file("sys/fs/cgroup/slurm/memory.max", "8589934592\n")
      .file("sys/fs/cgroup/slurm/job_7/cpu.max", "250000 100000\n")
      .file("sys/fs/cgroup/slurm/cpu.max", "800000 100000\n");
  EXPECT_EQ(system.cgroups().memory_limit(), 4_GiB);
  EXPECT_EQ(system.cgroups().memory_left(), 3_GiB);
  EXPECT_DOUBLE_EQ(system.cgroups().cpu_limit().value(), 2.5);
}

TEST(Cgroups, AWiderLimitThatIsNearlyUsedUpLeavesLess) {
  FakeSystem system;
  system.file("proc/self/cgroup", "0::/all/mine\n")
      .file("sys/fs/cgroup/all/mine/memory.max", "4294967296\n")
      .file("sys/fs/cgroup/all/mine/memory.current", "0\n")
      .file("sys/fs/cgroup/all/memory.max", "8589934592\n")
      .file("sys/fs/cgroup/all/memory.current", "7516192768\n");
  EXPECT_EQ(system.cgroups().memory_limit(), 4_GiB);
  EXPECT_EQ(system.cgroups().memory_left(), 1_GiB);
}

TEST(Cgroups, FilePagesThatTheKernelGivesUpFirstAreNotUsed) {
  FakeSystem system;
  system.file("sys/fs/cgroup/memory.max", "4294967296\n")
      .file("sys/fs/cgroup/memory.current", "3221225472\n")
      .file("sys/fs/cgroup/memory.stat", "anon 1073741824\ninactive_file 2147483648\n");
  EXPECT_EQ(system.cgroups().memory_left(), 3_GiB);
}

TEST(Cgroups, OfVersion1AContainerSeesItsOwnAsTheMount) {
  FakeSystem system;
  system.file("proc/self/cgroup", "5:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n")
      .file("sys/fs/cgroup/memory/memory.usage_in_bytes", "1610612736\n")
      .file("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 536870912\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system.cgroups().memory_limit(), 2_GiB);
  EXPECT_EQ(system.cgroups().memory_left(), 1_GiB);
  EXPECT_DOUBLE_EQ(system.cgroups().cpu_limit().value(), 3);
}

TEST(Cgroups, Version1WritesNoLimitAsANumber) {
  FakeSystem system;
  system.file("proc/self/cgroup", "5:memory:/\n4:cpu:/\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(system.cgroups().memory_limit());
  EXPECT_FALSE(system.cgroups().cpu_limit());
}

TEST(Cgroups, AShareOfACoreIsOneCore) {
  FakeSystem system;
  system.file("sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(usable_cores(system.cgroups()), 1);
}

TEST(Cgroups, WithoutALimitTheSchedulersCoresAreUsed) {
  const FakeSystem system;
  EXPECT_GE(usable_cores(system.cgroups()), usable_cores());
}

}  // namespace
}  // namespace sluice::planner
