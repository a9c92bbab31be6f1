#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "engine/host/blas.hpp"
#include "profiler/doctor/examine.hpp"

namespace sluice::profiler {
namespace {

double gibibytes(Bytes bytes) { return static_cast<double>(bytes.count()) / (1LL << 30); }

Finding examine_cpu(const SystemFiles& files, int cpus) {
  const auto flags = files.cpu_flags();
  const auto has = [&](const char* flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  const std::string isa = has("amx_bf16")  ? "AMX"
                          : has("avx512f") ? "AVX-512"
                          : has("avx2")    ? "AVX2"
                          : has("asimd")   ? "NEON"
                                           : "no AVX2";
  const auto limit = files.cgroup_cpu_limit();
  Finding finding{"cpu", Verdict::ok,
                  fmt::format("{}, {} usable core{}, {}", files.cpu_model().value_or("unknown CPU"),
                              cpus, cpus == 1 ? "" : "s", isa),
                  std::nullopt};
  if (limit && *limit < cpus) {
    finding.verdict = Verdict::warn;
    finding.text += fmt::format("; the cgroup allows {:.1f} of them at once", *limit);
    finding.fix = fmt::format("docker run --cpus={} ... (or raise cpu.max of the cgroup)", cpus);
  } else if (cpus < 2) {
    finding.verdict = Verdict::warn;
    finding.text += "; the optimizer and the compute lane will share one core";
    finding.fix = "taskset -c 0,1 sluice ... (or give the machine a second core)";
  } else if (isa == "no AVX2") {
    finding.verdict = Verdict::warn;
    finding.text += "; host kernels will be slow";
    finding.fix = "run on a CPU with AVX2 (lscpu | grep avx2)";
  }
  return finding;
}

Finding examine_memory(const SystemFiles& files) {
  const auto total = files.memory_field("MemTotal");
  const auto available = files.memory_field("MemAvailable");
  if (!total || !available) {
    return {"memory", Verdict::warn, "/proc/meminfo cannot be read", "mount -t proc proc /proc"};
  }
  const auto limit = files.cgroup_memory_limit();
  Finding finding{
      "memory", Verdict::ok,
      fmt::format("{:.1f} GiB, {:.1f} GiB available", gibibytes(*total), gibibytes(*available)),
      std::nullopt};
  const Bytes usable = limit ? std::min(*available, *limit) : *available;
  if (limit && *limit < *total) {
    finding.verdict = Verdict::warn;
    finding.text += fmt::format("; the cgroup allows {:.1f} GiB", gibibytes(*limit));
    finding.fix = fmt::format("docker run --memory={}g ... (or raise memory.max of the cgroup)",
                              static_cast<int>(gibibytes(*total)));
  }
  if (usable < 1_GiB) {
    finding.verdict = Verdict::fail;
    finding.text += "; below the 1 GiB that the smallest run takes";
    if (!finding.fix) finding.fix = "ps aux --sort=-rss | head (and end what is not needed)";
  }
  return finding;
}

Finding examine_channels(const SystemFiles& files) {
  const auto modules = files.memory_modules();
  if (!modules) {
    return {"memory channels", Verdict::warn,
            "unknown: the firmware's memory table cannot be read (probe measures the bandwidth)",
            "sudo dmidecode -t memory"};
  }
  std::string text =
      fmt::format("{} populated module{}", modules->populated, modules->populated == 1 ? "" : "s");
  if (modules->megatransfers > 0) text += fmt::format(" at {} MT/s", modules->megatransfers);
  if (modules->populated == 1) {
    return {"memory channels", Verdict::warn, text + ": one channel halves the optimizer's speed",
            "sudo dmidecode -t memory (then fill every channel with equal modules)"};
  }
  return {"memory channels", Verdict::ok, text, std::nullopt};
}

Finding examine_numa(const SystemFiles& files) {
  const std::size_t nodes = files.numa_nodes();
  if (nodes == 1) return {"numa", Verdict::ok, "1 node", std::nullopt};
  return {
      "numa", Verdict::warn,
      fmt::format("{} nodes: memory of another node is slower for copies and the optimizer", nodes),
      "numactl --cpunodebind=0 --membind=0 sluice ..."};
}

Finding examine_wsl(const SystemFiles& files) {
  if (!files.is_wsl()) return {"wsl", Verdict::ok, "not under WSL", std::nullopt};
  return {"wsl", Verdict::warn,
          "under WSL: pinned memory is capped near half of the memory WSL was given",
          "echo -e '[wsl2]\\nmemory=90%' >> /mnt/c/Users/$USER/.wslconfig && wsl.exe --shutdown"};
}

}  // namespace

Findings examine_host(const SystemFiles& files, int cpus) {
  return {examine_cpu(files, cpus), examine_memory(files), examine_channels(files),
          examine_numa(files), examine_wsl(files)};
}

Finding examine_locked_memory(std::optional<Bytes> soft_limit, GpuPresence gpu) {
  if (!soft_limit) return {"locked memory", Verdict::ok, "unlimited", std::nullopt};
  const std::string text = fmt::format("{:.2f} GiB may be locked", gibibytes(*soft_limit));
  if (gpu == GpuPresence::absent) {
    return {"locked memory", Verdict::ok, text + " (only a GPU needs pinned memory)", std::nullopt};
  }
  return {"locked memory", Verdict::warn,
          text + ": where pinning is refused, copies go through a small ring and are slower",
          "ulimit -l unlimited (or '* - memlock unlimited' in /etc/security/limits.conf)"};
}

Finding examine_disk(const std::string& subject, const std::filesystem::path& folder,
                     const std::string& fix) {
  std::error_code ignored;
  // The parent of a plain name is empty: the working directory.
  std::filesystem::path at = std::filesystem::absolute(folder.empty() ? "." : folder, ignored);
  while (!std::filesystem::exists(at, ignored) && at.has_parent_path() && at != at.parent_path()) {
    at = at.parent_path();
  }
  struct statvfs space {};
  if (statvfs(at.c_str(), &space) != 0) {
    return {subject, Verdict::fail, fmt::format("{} cannot be read", at.string()), fix};
  }
  if (access(at.c_str(), W_OK) != 0) {
    return {subject, Verdict::fail, fmt::format("{} is not writable", at.string()), fix};
  }
  const Bytes free(static_cast<std::int64_t>(space.f_bavail) *
                   static_cast<std::int64_t>(space.f_frsize));
  const std::string text = fmt::format("{:.1f} GiB free at {}", gibibytes(free), at.string());
  if (free < 100_MiB) return {subject, Verdict::fail, text, fix};
  if (free < 2_GiB) return {subject, Verdict::warn, text, fix};
  return {subject, Verdict::ok, text, std::nullopt};
}

Finding examine_openblas() {
  engine::prepare_blas();  // May choose another core than OpenBLAS did.
  // Looked up at run time: the doctor says what this process really calls, whatever it was built
  // with.
  engine::prepare_blas();  // The kernels that a run would have.
  const auto core = reinterpret_cast<char* (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  const auto config = reinterpret_cast<char* (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_config"));
  if (!core || !config) {
    return {"openblas", Verdict::warn,
            "the BLAS of this process is not OpenBLAS: slower, and another numerics id",
            "apt-get install libopenblas-pthread-dev"};
  }
  const std::string words = config();
  const std::string version = words.substr(0, words.find(' ', words.find(' ') + 1));
  return {"openblas", Verdict::ok, fmt::format("{}, {} kernels", version, core()), std::nullopt};
}

}  // namespace sluice::profiler
