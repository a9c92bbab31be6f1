#include "cli/serving/served_runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

#include "sim/error.hpp"
#include "sim/json_tree.hpp"
#include "sim/utf8.hpp"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostBytes = 256UL << 20;  // Most that is read of one file.

/// Text of a regular file in a folder, its first kMostBytes; none where there is no such file, or a
/// link.
std::optional<std::string> text_of(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat status {};
  std::string text;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    text.resize(std::min(static_cast<std::size_t>(status.st_size), kMostBytes));
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t got = ::read(file, text.data() + done, text.size() - done);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
  }
  ::close(file);
  return text;
}

/// The whole lines of a metrics.jsonl that are JSON objects with a step.
std::vector<sim::Json> lines_of(const fs::path& run) {
  std::vector<sim::Json> rows;
  const std::string text = text_of(run / "metrics.jsonl").value_or("");
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  for (std::string line; std::getline(lines, line);) {
    sim::Json row = sim::Json::parse(line, nullptr, false);
    if (row.is_object() && row.contains("step") && row["step"].is_number_integer())
      rows.push_back(std::move(row));
  }
  return rows;
}

/// Value of a key at the left margin of a YAML text that the program wrote; null where there is
/// none.
sim::Json stated(const std::string& yaml, const std::string& key) {
  std::smatch found;
  const std::regex line("(?:^|\n)" + key + ": \"?([^\"\n]*)\"?(?:\n|$)");
  if (!std::regex_search(yaml, found, line)) return nullptr;
  return found[1].str();
}

/// Name of a model or machine without the folders of a path.
sim::Json last_part(const sim::Json& name) {
  return name.is_string() ? sim::Json(fs::path(name.get<std::string>()).filename().string()) : name;
}

/// Whether a process of this computer holds the lock on the folder that a run holds. The list of
/// locks is read and none is taken, because that could refuse a run its start.
bool runs_now(const fs::path& run) {
  struct stat status {};
  if (::stat(run.c_str(), &status) != 0) return false;
  const std::string place =
      fmt::format(" {:02x}:{:02x}:{} ", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find(" FLOCK ") != std::string::npos && line.find(place) != std::string::npos)
      return true;
  }
  return false;
}

struct Found {
  fs::path path;
  fs::file_time_type changed;
};

/// Folders with a metrics.jsonl, the one that changed last first.
std::vector<Found> run_folders(const fs::path& folder) {
  std::vector<Found> found;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    std::error_code gone;
    if (!entry.is_directory(gone) || entry.is_symlink(gone)) continue;
    if (sim::first_not_utf8(entry.path().filename().string())) continue;
    const fs::path metrics = entry.path() / "metrics.jsonl";
    if (!fs::is_regular_file(fs::symlink_status(metrics, gone))) continue;
    found.push_back({entry.path(), fs::last_write_time(metrics, gone)});
  }
  std::ranges::sort(found, std::ranges::greater(), &Found::changed);
  return found;
}

sim::Json listed(const fs::path& run) {
  const std::string yaml = text_of(run / "run.yaml").value_or("");
  const std::vector<sim::Json> rows = lines_of(run);
  const sim::Json steps = stated(yaml, "steps");
  sim::Json of;
  if (steps.is_string() && std::regex_match(steps.get<std::string>(), std::regex("[0-9]{1,12}"))) {
    of = std::stoll(steps.get<std::string>());
  }
  sim::Json one{{"name", run.filename().string()},
                {"model", last_part(stated(yaml, "model"))},
                {"machine", last_part(stated(yaml, "machine"))},
                {"of", of},
                {"steps", rows.empty() ? sim::Json(0) : rows.back()["step"]},
                {"running", runs_now(run)}};
  for (const char* key : {"loss", "step_s", "predicted_s"}) {
    one[key] = rows.empty() ? sim::Json() : rows.back().value(key, sim::Json());
  }
  return one;
}

}  // namespace

std::string ServedRuns::list() const {
  constexpr std::size_t kMost = 100;
  sim::Json runs = sim::Json::array();
  for (const Found& found : run_folders(folder_)) {
    if (runs.size() == kMost) break;
    runs.push_back(listed(found.path));
  }
  return sim::Json{{"runs", runs}}.dump() + "\n";
}

std::string ServedRuns::rows(const std::string& name, std::int64_t after) const {
  constexpr std::size_t kMost = 4'000;
  const std::vector<Found> folders = run_folders(folder_);
  const auto found = std::ranges::find_if(
      folders, [&name](const Found& one) { return one.path.filename() == name; });
  if (found == folders.end()) throw BadRequest("run: there is no such run");
  std::vector<sim::Json> rows = lines_of(found->path);
  std::erase_if(rows,
                [after](const sim::Json& row) { return row["step"].get<std::int64_t>() <= after; });
  const std::size_t every = rows.size() / kMost + 1;
  sim::Json kept = sim::Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Steps with an evaluation and the last one stay.
    if (i % every == 0 || i + 1 == rows.size() || rows[i].contains("val_loss"))
      kept.push_back(std::move(rows[i]));
  }
  return sim::Json{{"rows", kept}, {"running", runs_now(found->path)}}.dump() + "\n";
}

}  // namespace sluice::cli
