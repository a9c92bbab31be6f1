// Tests of remedies that name modules which can be ordered.
#include "planner/requests/memory_in_modules.hpp"

#include <gtest/gtest.h>

#include "planner/requests/choose_plan.hpp"
#include "tests/planner/requests/run_of.hpp"

namespace sluice::planner {
namespace {

Infeasible refused(const std::string& model, const std::string& machine,
                   std::optional<Bytes> host = {}) {
  const test::ScratchFolder folder;
  RunConfig run;
  run.model = model;
  run.seq_len = 1024;
  run.batch_size = 8;
  run.micro_batch = 1;
  run.machine = machine;
  run.limits.host = host;
  Request request = resolve(run, Store(folder.path()));
  request.search.effort = kQuickEffort / 4;
  return std::get<Infeasible>(choose_plan(request));
}

const Remedy* of_host_memory(const Infeasible& infeasible, const std::string& begins) {
  for (const Remedy& remedy : infeasible.remedies) {
    if (remedy.setting.starts_with(begins)) return &remedy;
  }
  return nullptr;
}

TEST(MemoryInModules, AKitOfTheOwnBoardWhereOneIsEnough) {
  const Infeasible short_of = refused("qwen3-8b", "rtx-4090 + 2x32 GiB DDR5-5600");
  const Remedy* kit = of_host_memory(short_of, "--ram");
  ASSERT_NE(kit, nullptr);
  EXPECT_EQ(kit->setting, "--ram \"2x64 GiB DDR5-5600\"");
  EXPECT_EQ(kit->what, "2x64 GiB DDR5-5600 instead of 2x32 GiB DDR5-5600");
  EXPECT_GT(kit->step, Duration(0));
}

TEST(MemoryInModules, AnotherBoardWhereTheOwnTakesTooLittle) {
  const Infeasible short_of = refused("qwen3-32b", "rtx-4090 + 2x32 GiB DDR5-5600");
  const Remedy* kit = of_host_memory(short_of, "--cpu");
  ASSERT_NE(kit, nullptr);
  EXPECT_NE(kit->setting.find(" --ram \""), std::string::npos) << kit->setting;
}

TEST(MemoryInModules, BytesWhereTheRunLimitsTheHost) {
  const Infeasible short_of =
      refused("qwen3-8b", "rtx-4090 + 2x64 GiB DDR5-5600", Bytes(32ll << 30));
  EXPECT_EQ(of_host_memory(short_of, "--ram"), nullptr);
  const Remedy* bytes = of_host_memory(short_of, "--host ");
  ASSERT_NE(bytes, nullptr);
  EXPECT_TRUE(bytes->setting.ends_with("GiB")) << bytes->setting;
}

}  // namespace
}  // namespace sluice::planner
