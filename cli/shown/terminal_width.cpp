#include "cli/shown/terminal_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sim/message_line.hpp"
#include "sim/utf8.hpp"

namespace sluice::cli {

int terminal_width() {
  constexpr int kUsual = 80;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

void show_in_place(const std::string& text) {
  const std::string line = sim::message_line(text);
  const auto columns = static_cast<std::size_t>(std::max(1, terminal_width() - 1));
  std::size_t end = 0;
  for (std::size_t shown = 0; end < line.size() && shown < columns; ++shown) {
    const auto point = sim::code_point_at(line, end);
    end += point ? point->bytes : 1;
  }
  std::fprintf(stderr, "\r%.*s\x1b[K", static_cast<int>(end), line.c_str());
  std::fflush(stderr);
}

}  // namespace sluice::cli
