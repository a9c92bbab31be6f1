#include "engine/ranks/process_mark.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace sluice::engine {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Boot of the system and namespace, without spaces: the same for processes that see each other.
std::string house() {
  std::error_code ignored;
  std::string text = text_of_file("/proc/sys/kernel/random/boot_id");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text + "/" + std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

/// When process `number` started, in the system's ticks; none if it has ended, also where its
/// parent has not asked for its end (a zombie).
std::optional<std::string> process_start(const std::string& number) {
  constexpr int kFieldsToStart = 19;  // From the state, which follows the name in parentheses.
  const std::string status = text_of_file("/proc/" + number + "/stat");
  const std::size_t name_end = status.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(status.substr(name_end + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return std::nullopt;
  for (int i = 0; i < kFieldsToStart; ++i) fields >> field;
  return field;
}

}  // namespace

std::string own_process_mark() {
  const std::string number = std::to_string(getpid());
  return house() + ' ' + number + ' ' + process_start(number).value_or("");
}

bool is_gone(const std::string& mark) {
  std::istringstream words(mark);
  std::string where, number, start;
  words >> where >> number >> start;
  if (where != house() || start.empty()) return false;
  return process_start(number) != start;
}

}  // namespace sluice::engine
