#include "blowfish/load/record_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stout::blowfish {

RecordSplitter::RecordSplitter(SplitOptions options) : options_(std::move(options)) {
  for (const std::size_t column : options_.key_columns) {
    in_key_.resize(std::max(in_key_.size(), column));
    in_key_[column - 1] = true;
  }
}

bool RecordSplitter::Split(std::string_view line, std::uint64_t number) {
  std::size_t end = 0;  // of columns_: a delimiter, or the end of the line
  columns_.clear();
  while (columns_.size() < in_key_.size() && end != line.npos) {
    const std::size_t begin = columns_.empty() ? 0 : end + 1;
    end = line.find(options_.delimiter, begin);
    columns_.push_back(line.substr(begin, end - begin));
  }
  if (columns_.size() < in_key_.size()) return false;

  key_ = options_.key_prefix;
  if (in_key_.empty()) key_ += fmt::format_int(number).c_str();
  lacks_key_ = !in_key_.empty();
  bool first = true;
  for (const std::size_t column : options_.key_columns) {
    if (!std::exchange(first, false)) key_ += options_.delimiter;
    key_ += columns_[column - 1];
    lacks_key_ = lacks_key_ && columns_[column - 1].empty();
  }

  value_ = line;
  if (!options_.drop_key || in_key_.empty()) return true;
  kept_.clear();
  for (std::size_t column = 0; column < in_key_.size(); ++column) {
    if (!in_key_[column]) kept_.append(columns_[column]) += options_.delimiter;
  }
  if (end != line.npos) {
    kept_ += line.substr(end + 1);
  } else if (!kept_.empty()) {
    kept_.pop_back();
  }
  value_ = kept_;
  return true;
}

}  // namespace stout::blowfish
