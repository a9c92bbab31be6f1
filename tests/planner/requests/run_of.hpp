// A small run of the catalogue, and files that tests of requests write.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner::test {

inline Store empty_store() { return Store("/nonexistent/store"); }

inline RunConfig run_on_h200() {
  RunConfig run;
  run.model = "bytes-2m";
  run.machine = "h200";
  run.seq_len = 64;
  run.batch_size = 8;
  return run;
}

/// A temporary folder of one test, removed with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "sluice-request-").string() + "XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path write(const std::string& name,
                                            const std::string& text) const {
    write_whole_file(path_ / name, text);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline constexpr char kPolicyText[] =
    "name: mine\njob: {loss_chunk: 32}\nplan: {weights: host, weight_buffers: 3, "
    "prefetch_depth: 2}\n";

}  // namespace sluice::planner::test
