#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/error.h"

namespace stout::inline v1 {

/// Splits values into attributes at a delimiter byte, like the lines of a delimited file.
///
/// Attribute i of a value lies between its delimiters i - 1 and i. The last attribute of the schema
/// takes the rest, with all delimiters. A value with fewer delimiters lacks its last attributes,
/// which differs from having them empty. Every byte string is a value, and is given back unchanged.
/// There is no escaping. A schema of one attribute leaves values whole.
///
///     Schema schema = Schema::Make({"name", "city"}, '|').value();
///     schema.Attribute("ann|rome", 1) == "rome";   !schema.Attribute("ann", 1);
///
/// Owner: value type.   Threads: as a const value.
class Schema {
 public:
  static constexpr std::size_t kMaxAttributes = 120;

  /// One attribute, "value".
  Schema();

  /// Errors: kBadOptions if there is no name, if there are more than kMaxAttributes, if a name is
  /// empty, or if two are equal. `diagnostics` then has the cause.
  [[nodiscard]] static Result<Schema> Make(std::vector<std::string> names, char delimiter,
                                           Diagnostics* diagnostics = nullptr);

  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] char delimiter() const { return delimiter_; }

  /// Returns the index of the attribute with this name; nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> Find(std::string_view name) const;

  /// Returns the attribute with this index in a value; nullopt if the value lacks it. Requires
  /// attribute < size().
  [[nodiscard]] std::optional<std::string_view> Attribute(std::string_view value,
                                                          std::size_t attribute) const;

  /// Calls visit(attribute, text) for each attribute that a value has, in order.
  template <typename Visit>
  void Split(std::string_view value, Visit visit) const {
    for (std::size_t attribute = 0; attribute + 1 < names_.size(); ++attribute) {
      const std::size_t end = value.find(delimiter_);
      visit(attribute, value.substr(0, end));
      if (end == std::string_view::npos) return;
      value.remove_prefix(end + 1);
    }
    visit(names_.size() - 1, value);
  }

  friend bool operator==(const Schema&, const Schema&) = default;

 private:
  Schema(std::vector<std::string> names, char delimiter);

  std::vector<std::string> names_;
  char delimiter_;
};

}  // namespace stout::inline v1
