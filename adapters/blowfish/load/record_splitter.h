#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stout::blowfish {

/// How a line becomes a record.
struct SplitOptions {
  char delimiter = '|';
  /// Columns that make up the key, in this order, joined by the delimiter; the first is 1. Empty:
  /// the number of the line, in decimal, is the key.
  std::vector<std::size_t> key_columns = {1};
  std::string key_prefix;
  /// The value is the line without the columns of the key, rather than the whole line.
  bool drop_key = false;
};

/// Makes a key and a value of a line. The text between delimiters is not changed, NULs, carriage
/// returns and empty columns included, because the server splits values by its schema itself.
///
///     {.key_columns = {2, 1}, .key_prefix = "o:", .drop_key = true}
///     7|ann|rome|it    ->    o:ann|7    rome|it
///
/// Cost: looks at the columns up to the last of the key, and copies the record.
class RecordSplitter {
 public:
  /// Requires columns >= 1, none twice.
  explicit RecordSplitter(SplitOptions options);

  /// False: the line lacks a column of the key; columns() says how many it has.
  [[nodiscard]] bool Split(std::string_view line, std::uint64_t number);

  /// These describe the line that was split last, until the next Split(). lacks_key(): all columns
  /// of the key are empty, so the key is the same for every such line.
  [[nodiscard]] bool lacks_key() const { return lacks_key_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }

 private:
  const SplitOptions options_;
  std::vector<bool> in_key_;  // by column, the first is 0, up to the last of the key
  std::vector<std::string_view> columns_;
  bool lacks_key_ = false;
  std::string key_;
  std::string kept_;  // the value if it is not the line
  std::string_view value_;
};

}  // namespace stout::blowfish
