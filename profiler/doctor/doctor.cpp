#include "profiler/doctor/doctor.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "profiler/doctor/examine.hpp"

namespace sluice::profiler {
namespace {

#ifdef SLUICE_WITH_CUDA
constexpr CudaBackend kBackend = CudaBackend::built;
#else
constexpr CudaBackend kBackend = CudaBackend::absent;
#endif

std::optional<Bytes> locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return Bytes(static_cast<std::int64_t>(limit.rlim_cur));
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::warn:
      return "warn";
    case Verdict::fail:
      return "fail";
  }
  return "fail";
}

Findings examine_machine(const DoctorOptions& options) {
  const auto driver = ask_nvidia_driver();
  const GpuPresence gpu =
      driver && !driver->gpus.empty() ? GpuPresence::present : GpuPresence::absent;
  Findings findings = examine_host(SystemFiles(), usable_cpus());
  findings.push_back(examine_locked_memory(locked_memory_limit(), gpu));
  findings.push_back(examine_disk("disk (runs)", options.runs,
                                  "df -h . (then free space, or set out: in RUN.yaml)"));
  findings.push_back(
      examine_disk("disk (store)", options.store, "export SLUICE_HOME=/path/on/a/writable/disk"));
  findings.push_back(examine_openblas());
  for (Finding& finding : examine_gpus(driver, kBackend)) findings.push_back(std::move(finding));
  if (driver) {
    for (Finding& finding : examine_gpu_links(*driver, SystemFiles())) {
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

bool failed(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.verdict == Verdict::fail; });
}

void require_healthy(const Findings& findings) {
  for (const Finding& finding : findings) {
    if (finding.verdict != Verdict::fail) continue;
    throw EnvironmentError("doctor: " + finding.subject + ": " + finding.text +
                           (finding.fix ? " (fix: " + *finding.fix + ")" : ""));
  }
}

Findings warnings(const Findings& findings) {
  Findings some;
  for (const Finding& finding : findings) {
    if (finding.verdict == Verdict::warn) some.push_back(finding);
  }
  return some;
}

std::string findings_text(const Findings& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.subject.size());
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<5} {:<{}}  {}\n", to_string(finding.verdict), finding.subject, width,
                        finding.text);
    if (finding.fix) text += fmt::format("{:{}}  fix: {}\n", "", width + 6, *finding.fix);
  }
  return text;
}

std::string findings_json(const Findings& findings) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json line;
    line["subject"] = finding.subject;
    line["verdict"] = to_string(finding.verdict);
    line["text"] = finding.text;
    line["fix"] = finding.fix ? nlohmann::ordered_json(*finding.fix) : nullptr;
    lines.push_back(std::move(line));
  }
  nlohmann::ordered_json report;
  report["version"] = 1;
  report["findings"] = std::move(lines);
  report["ok"] = !failed(findings);
  return report.dump(2);
}

}  // namespace sluice::profiler
