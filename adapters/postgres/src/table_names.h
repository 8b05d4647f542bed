#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stout::postgres {

// Names of tables that belong together: TABLE or SCHEMA.TABLE as the user wrote it, with something
// behind it.
class TableNames {
 public:
  // Returns nullopt and sets a message if it is not a name.
  [[nodiscard]] static std::optional<TableNames> Parse(std::string_view text, std::string* error);

  // Returns the names for a table of this deployment: "TABLE.NAME", in quotes. Parse() accepts no
  // name with this dot, so they collide with none. Returns nullopt and sets a message if the name
  // is too long.
  [[nodiscard]] std::optional<TableNames> OfTable(std::string_view name, std::string* error) const;

  // In quotes. `suffix` has at most 8 bytes.
  [[nodiscard]] std::string With(std::string_view suffix) const;
  // The same less the schema, as CREATE INDEX wants it.
  [[nodiscard]] std::string WithoutSchema(std::string_view suffix) const;

 private:
  std::string in_schema_;  // In quotes, with the dot; or empty.
  std::string table_;      // Quoted, less the last quote.
};

}  // namespace stout::postgres
