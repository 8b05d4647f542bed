#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shard/record_source.h"

namespace stout::bench::shard {

/// Makes texts of values in which any search for substrings finds an attribute. A byte of its own,
/// a mark, precedes each attribute, and one more follows the last.
///
/// Example, of the marks 0x80, 0x81, 0x82: "ann|rome" becomes 80 ann 81 rome 82, "ann" 80 ann 81.
/// The name ann is 80 ann 81, and only the name is.
class AttributeMarks {
 public:
  AttributeMarks() = default;
  /// Takes bytes that no value of the records has, from 0x80 on, then from 0 on; reads them all.
  /// Throws std::runtime_error: there are too few.
  explicit AttributeMarks(RecordSource& records);

  /// Replaces what is in `text`.
  void ToText(std::string_view value, std::string& text) const;
  void ToValue(std::string_view text, std::string& value) const;

  /// Puts the text to search for into `text`, replacing its content.
  void ToSearch(std::size_t attribute, std::string_view value, std::string& text) const;

 private:
  Schema schema_;
  std::vector<char> marks_;          // One more than attributes.
  std::array<char, 256> printed_{};  // The byte itself, or a mark's delimiter.
};

}  // namespace stout::bench::shard
