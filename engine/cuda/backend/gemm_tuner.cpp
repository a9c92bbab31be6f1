#include "engine/cuda/backend/gemm_tuner.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <set>

#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/products/gemm_race.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "planner/files/file_descriptor.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

constexpr std::chrono::seconds kSaidEvery{10};

/// Lock on a table's file, held while this object lives: one process tunes at a time, and the next
/// one reads its results.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& file)
      : descriptor_(file, O_RDWR | O_CREAT | O_CLOEXEC) {
    while (flock(descriptor_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) descriptor_.fail("cannot lock");
    }
  }

 private:
  planner::FileDescriptor descriptor_;  ///< Closing the file unlocks it.
};

std::filesystem::path lock_of(std::filesystem::path file) {
  file += ".lock";
  return file;
}

}  // namespace

GemmTableId gemm_table_id() {
  require_usable_device();
  const cuda::Device device = cuda::query_devices().devices.front();
  return {.gpu = device.name,
          .compute_capability = cuda::to_string(device.compute_capability),
          .multiprocessors = device.multiprocessors,
          .cublaslt = static_cast<std::int64_t>(CudaGemm::library_version()),
          .workspace = kGemmWorkspace};
}

void announce_on_stderr(const std::string& line) { sim::tell(line); }

GemmTable ensure_gemm_table(const planner::Job& job, const planner::Store& store,
                            const GemmAnnounce& announce) {
  CudaTemplates::require_computable(job);
  const GemmTableId id = gemm_table_id();
  const std::filesystem::path file = gemm_table_file(store.root(), id);
  const std::vector<GemmKey> keys = gemm_keys(job);
  GemmTable table = read_gemm_table(file, id);
  if (table.missing(keys).empty()) return table;

  const FileLock lock(lock_of(file));
  table = read_gemm_table(file, id);  // Another process may have tuned meanwhile.
  const std::vector<GemmKey> missing = table.missing(keys);
  if (missing.empty()) return table;
  announce("tuning " + std::to_string(missing.size()) + " matrix products for " + id.gpu +
           ", once; kept in " + file.string());
  GemmRace race(missing);
  auto said = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    table.add(missing[i], race.run(missing[i]));
    write_gemm_table(table, file);  // An interrupted tuning continues from here.
    const auto now = std::chrono::steady_clock::now();
    if (now - said < kSaidEvery) continue;
    said = now;
    announce(std::to_string(i + 1) + " of " + std::to_string(missing.size()) +
             " products are tuned");
  }
  return table;
}

GemmTable estimated_gemm_table(std::span<const planner::Job> jobs, const planner::Store& store) {
  const GemmTableId id = gemm_table_id();
  GemmTable table = read_gemm_table(gemm_table_file(store.root(), id), id);
  std::set<GemmKey> keys;
  for (const planner::Job& job : jobs) {
    CudaTemplates::require_computable(job);
    for (const GemmKey& key : gemm_keys(job)) keys.insert(key);
  }
  const std::vector<GemmKey> all(keys.begin(), keys.end());
  const std::vector<GemmKey> missing = table.missing(all);
  if (missing.empty()) return table;
  GemmRace race(missing);
  for (const GemmKey& key : missing) table.add(key, race.run(key, GemmCare::quick));
  return table;
}

}  // namespace sluice::engine
