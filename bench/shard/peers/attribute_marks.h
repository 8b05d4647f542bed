#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shard/record_source.h"

namespace stout::bench::shard {

/// Makes values texts of which an attribute is found by any search for substrings: a byte of its
/// own, a mark, stands in front of each, and one more behind the last.
///
/// Example, of the marks 0x80, 0x81, 0x82: "ann|rome" becomes 80 ann 81 rome 82, "ann" 80 ann 81;
/// the name ann is 80 ann 81, and none but the name is.
class AttributeMarks {
 public:
  AttributeMarks() = default;
  /// Takes bytes that no value of the records has, from 0x80 on, then from 0 on; reads them all.
  /// Throws std::runtime_error: there are too few.
  explicit AttributeMarks(RecordSource& records);

  /// Replaces what is in `text`.
  void ToText(std::string_view value, std::string& text) const;
  void ToValue(std::string_view text, std::string& value) const;

  /// What is to be searched for. Replaces what is in `text`.
  void ToSearch(std::size_t attribute, std::string_view value, std::string& text) const;

 private:
  blowfish::Schema schema_;
  std::vector<char> marks_;          // One more than attributes.
  std::array<char, 256> printed_{};  // The byte itself, or a mark's delimiter.
};

}  // namespace stout::bench::shard
