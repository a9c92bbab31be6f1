#include <algorithm>
#include <cmath>
#include <map>

#include "planner/kernels/columns.hpp"
#include "planner/kernels/table.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

bool is_word(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-xX* \t") != std::string::npos;
}

/// Numbers on a line of a split file, with commas, spaces or x between them.
std::vector<double> numbers_of(const std::string& file, const CsvLine& line) {
  std::vector<double> numbers;
  for (const std::string& cell : line.cells) {
    std::string text = cell;
    for (char& c : text) {
      if (c == 'x' || c == 'X' || c == '*' || c == '\t') c = ' ';
    }
    std::size_t at = 0;
    while ((at = text.find_first_not_of(' ', at)) != std::string::npos) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const auto value = cell_number(text.substr(at, end - at));
      if (!value || *value != std::floor(*value) || *value < 0) {
        throw BadRequest(at_line(file, line.number) + ": \"" + cell +
                         "\" must be a row number, a shape, train or test");
      }
      numbers.push_back(*value);
      at = end;
    }
  }
  return numbers;
}

class Split {
 public:
  Split(const std::string& file, KernelKind kind, const KernelTable& table)
      : file_(file), kind_(kind), table_(table), chosen_(table.rows.size()) {
    for (std::size_t i = 0; i < table.rows.size(); ++i) by_shape_.emplace(table.rows[i].shape, i);
  }

  void choose_row(const CsvLine& line, double row) {
    if (row >= static_cast<double>(chosen_.size())) {
      throw BadRequest(at_line(file_, line.number) + ": row " + line.cells[0] + " is beyond the " +
                       std::to_string(chosen_.size()) + " rows of " + table_.file +
                       " (0 is the first under the header)");
    }
    chosen_[static_cast<std::size_t>(row)] = true;
  }
  void choose_shape(const CsvLine& line, const KernelShape& shape) {
    const auto [first, last] = by_shape_.equal_range(shape);
    if (first == last) {
      throw BadRequest(at_line(file_, line.number) + ": " + table_.file +
                       " has no row of this shape");
    }
    for (auto row = first; row != last; ++row) chosen_[row->second] = true;
  }
  void choose_numbers(const CsvLine& line) {
    const std::vector<double> numbers = numbers_of(file_, line);
    if (numbers.size() == 1) return choose_row(line, numbers[0]);
    const auto columns = kernel_columns(kind_);
    const std::size_t least = columns.size() - (columns.back().optional ? 1 : 0);
    if (numbers.size() < least || numbers.size() > columns.size()) {
      std::string names;
      for (const KernelColumn& column : columns) {
        names += (names.empty() ? "" : ",") + std::string(column.name);
      }
      throw BadRequest(at_line(file_, line.number) + ": " + std::to_string(numbers.size()) +
                       " numbers are neither a row number nor a shape (" + names + ")");
    }
    KernelShape shape;
    std::copy(numbers.begin(), numbers.end(), shape.size.begin());
    if (kind_ == KernelKind::attention && shape.size[3] == 0) shape.size[3] = shape.size[2];
    choose_shape(line, shape);
  }
  void choose_words(const std::vector<CsvLine>& lines) {
    if (lines.size() != chosen_.size()) {
      throw BadRequest(file_ + ": has " + std::to_string(lines.size()) +
                       " lines of train or test, " + table_.file + " has " +
                       std::to_string(chosen_.size()) + " rows: write one line a row");
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& word = lines[i].cells[0];
      if (word != "train" && word != "test") {
        throw BadRequest(at_line(file_, lines[i].number) + ": \"" + word +
                         "\" must be train or test");
      }
      chosen_[i] = word == "train";
    }
  }
  [[nodiscard]] std::vector<bool> take() { return std::move(chosen_); }

 private:
  const std::string& file_;
  KernelKind kind_;
  const KernelTable& table_;
  std::vector<bool> chosen_;
  std::multimap<KernelShape, std::size_t> by_shape_;
};

}  // namespace

std::vector<bool> read_split(const std::string& path, KernelKind kind, const KernelTable& table) {
  std::vector<CsvLine> lines = read_csv(path);
  std::erase_if(lines, [](const CsvLine& line) { return line.cells[0].starts_with("#"); });
  if (lines.empty()) throw BadRequest(path + ": names no row to train on");
  Split split(path, kind, table);
  const std::string& first = lines.front().cells[0];
  if (first == "train" || first == "test") {
    split.choose_words(lines);
  } else if (is_word(first)) {
    const KernelHeader header(path, lines.front());
    const auto places = header.sizes(kind);
    for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
      header.check_cells(*line);
      split.choose_shape(*line, read_shape(path, *line, kind, places));
    }
  } else {
    for (const CsvLine& line : lines) split.choose_numbers(line);
  }
  return split.take();
}

}  // namespace sluice::planner
