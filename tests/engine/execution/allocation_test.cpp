// Nothing is allocated while steps run. This is a separate program because it replaces malloc and
// mmap.
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

/// Address range of OpenBLAS's code: on AVX-512 its kernels of small products take a buffer from
/// malloc.
struct Library {
  std::uintptr_t begin = 0, end = 0;
};

Library find_openblas() {
  Library found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (std::strstr(info->dlpi_name, "openblas") == nullptr) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          *static_cast<Library*>(out) = {begin, begin + segment.p_memsz};
        }
        return 1;
      },
      &found);
  return found;
}

const Library openblas = find_openblas();

void count(const void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  const auto from = reinterpret_cast<std::uintptr_t>(caller);
  if (from < openblas.begin || from >= openblas.end) allocations.fetch_add(1);
}

}  // namespace

// The C library's own entry points, under the names that everything else links to.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t number, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t align, std::size_t bytes);

void* malloc(std::size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t align, std::size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_memalign(align, bytes);
}
void* aligned_alloc(std::size_t align, std::size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_memalign(align, bytes);
}
int posix_memalign(void** out, std::size_t align, std::size_t bytes) {
  count(__builtin_return_address(0));
  *out = __libc_memalign(align, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  count(__builtin_return_address(0));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what the system call returns is an address.
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}

namespace sluice::engine::test {
namespace {

/// Counts allocations from the first task of the first step on.
class CountingTokens : public TokenSource {
 public:
  explicit CountingTokens(std::int64_t vocab) : tokens_(vocab, 3) {}
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override {
    counting = true;
    tokens_.read(position, inputs, targets);
  }

 private:
  SyntheticTokens tokens_;
};

class QuietObserver : public Observer {
 public:
  void task_ran(const TaskEvent&) override { events_.fetch_add(1); }

 private:
  std::atomic<int> events_{0};
};

TEST(Allocation, CountsWhatIsAllocated) {
  allocations = 0;
  counting = true;
  void* memory = std::malloc(64);
  auto* number = new int(3);
  counting = false;
  EXPECT_GE(allocations.load(), 2);
  delete number;
  std::free(memory);
}

TEST(Allocation, NoneWhileStepsRun) {
  for (const NamedJob& each : small_jobs()) {
    for (std::uint64_t seed = 40; seed < 44; ++seed) {
      const planner::Plan plan = planner::random_plan(each.job, seed);
      const planner::StepGraph graph = graph_of(each.job, plan);
      CountingTokens tokens(each.job.model.vocab);
      QuietObserver observer;
      allocations = 0;
      const auto session = make_session(each.job, graph, plan, tokens, &observer);
      session->run_to(4, [](std::int64_t step, const StepResult&) {
        if (step == 4) counting = false;
      });
      counting = false;
      EXPECT_EQ(allocations.load(), 0) << each.name << ", " << describe(plan);
    }
  }
}

}  // namespace
}  // namespace sluice::engine::test
