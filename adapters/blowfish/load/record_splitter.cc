#include "blowfish/load/record_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stout::blowfish {

RecordSplitter::RecordSplitter(SplitOptions options) : options_(std::move(options)) {
  for (const std::size_t column : options_.key_columns) {
    last_key_column_ = std::max(last_key_column_, column);
  }
  in_key_.resize(last_key_column_);
  for (const std::size_t column : options_.key_columns) in_key_[column - 1] = true;
}

bool RecordSplitter::Split(std::string_view line, std::uint64_t number) {
  FindColumns(line);
  if (columns_.size() < last_key_column_) return false;
  key_ = options_.key_prefix;
  if (options_.key_columns.empty()) {
    const fmt::format_int digits(number);
    key_.append(digits.data(), digits.size());
  }
  bool first = true;
  lacks_key_ = !options_.key_columns.empty();
  for (const std::size_t column : options_.key_columns) {
    if (!std::exchange(first, false)) key_ += options_.delimiter;
    key_ += columns_[column - 1];
    lacks_key_ = lacks_key_ && columns_[column - 1].empty();
  }
  value_ = line;
  if (options_.drop_key && last_key_column_ > 0) DropKey();
  return true;
}

void RecordSplitter::FindColumns(std::string_view line) {
  columns_.clear();
  rest_ = line;
  bool more = true;
  while (more && columns_.size() < last_key_column_) {
    const std::size_t begin = columns_.empty() ? 0 : 1;  // behind the delimiter
    const std::size_t end = std::min(rest_.find(options_.delimiter, begin), rest_.size());
    columns_.push_back(rest_.substr(begin, end - begin));
    rest_.remove_prefix(end);
    more = !rest_.empty();
  }
}

void RecordSplitter::DropKey() {
  kept_.clear();
  bool first = true;
  for (std::size_t column = 0; column < last_key_column_; ++column) {
    if (in_key_[column]) continue;
    if (!std::exchange(first, false)) kept_ += options_.delimiter;
    kept_ += columns_[column];
  }
  if (!rest_.empty()) kept_ += first ? rest_.substr(1) : rest_;
  value_ = kept_;
}

}  // namespace stout::blowfish
