#include "engine/run_folders/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "engine/run_folders/event_file.hpp"
#include "engine/run_folders/missing_folders.hpp"
#include "engine/run_folders/tokenizer_files.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// A new folder name "runs/NAME-20260131-120000", with a number appended if that exists.
std::filesystem::path fresh_name(const std::string& model) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "-%Y%m%d-%H%M%S", &parts);
  const std::string name = (model.empty() ? std::string("model") : model) + stamp;
  std::filesystem::path path = std::filesystem::path("runs") / name;
  for (int number = 2; std::filesystem::exists(path); ++number) {
    path = std::filesystem::path("runs") / (name + "-" + std::to_string(number));
  }
  return path;
}

}  // namespace

RunFolder::RunFolder(const std::optional<std::filesystem::path>& out, const std::string& model)
    : RunFolder(out ? *out : fresh_name(model)) {
  if (std::filesystem::is_regular_file(metrics()) || std::filesystem::is_regular_file(ledger())) {
    throw BadRequest("out: " + path_.string() +
                     " already holds a run: give another folder, move it away, or go on with it " +
                     "(--resume)");
  }
  lock();
}

RunFolder::RunFolder(std::filesystem::path path)
    : path_(std::move(path)),
      events_(EventFile::fresh_path(tensorboard())),
      made_(missing_folders(path_)) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    before_.insert(entry->path().filename());
  }
  std::filesystem::create_directories(path_, error);
  if (error) {
    throw EnvironmentError("cannot make the run folder " + path_.string() + ": " + error.message());
  }
  struct stat found {};
  if (::stat(path_.c_str(), &found) != 0) {
    throw EnvironmentError("cannot read the run folder " + path_.string() + ": " +
                           std::strerror(errno));
  }
  device_ = found.st_dev;
  number_ = found.st_ino;
}

std::vector<std::filesystem::path> RunFolder::beginnings() const {
  std::vector<std::filesystem::path> all;
  for (const std::filesystem::path& file :
       {run_yaml(), plan(), predicted_trace(), measured_trace(), metrics(), ledger()}) {
    all.push_back(planner::part_file_of(file));
    if (!before_.contains(file.filename())) all.push_back(file);
  }
  if (!before_.contains(tokenizer().filename())) {
    for (const char* name : kTokenizerFiles) all.push_back(tokenizer() / name);
    all.push_back(tokenizer() / kConfigFile);
    all.push_back(tokenizer() / kMoreTemplates);
    all.push_back(tokenizer());
  }
  all.push_back(events_);
  if (!before_.contains(tensorboard().filename())) all.push_back(tensorboard());
  all.insert(all.end(), made_.begin(), made_.end());
  return all;
}

void RunFolder::take_back() const {
  std::error_code ignored;  // Errors here are ignored: the earlier one is to be reported.
  // remove() takes only empty folders.
  for (const std::filesystem::path& path : beginnings()) std::filesystem::remove(path, ignored);
}

void RunFolder::require_there() const {
  struct stat found {};
  if (::stat(path_.c_str(), &found) != 0) {
    throw EnvironmentError("the run folder " + path_.string() +
                           " is gone: " + std::strerror(errno));
  }
  if (found.st_dev == device_ && found.st_ino == number_) return;
  throw EnvironmentError("the run folder " + path_.string() +
                         " is another one than at the start: was it unmounted or replaced?");
}

RunFolder RunFolder::to_continue(const std::filesystem::path& path) {
  RunFolder folder(path);
  folder.lock();
  return folder;
}

void RunFolder::lock() {
  lock_ = std::make_shared<planner::FileDescriptor>(path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // File systems without locks give another error.
  if (::flock(lock_->get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw BadRequest("out: another run is at work in " + path_.string() +
                   ": give another folder, or wait for its end");
}

}  // namespace sluice::engine
