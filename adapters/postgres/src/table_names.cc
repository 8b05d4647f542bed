#include "table_names.h"

#include <fmt/format.h>

namespace stout::postgres {
namespace {

// PostgreSQL cuts names to 63 bytes; ours have up to 8 more.
constexpr std::size_t kLongestName = 55;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.find('\0') == name.npos &&
         name.find('.') == name.npos;
}

std::string OpenQuote(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted;
}

}  // namespace

std::optional<TableNames> TableNames::Parse(std::string_view text, std::string* error) {
  const std::size_t dot = text.find('.');
  const bool has_schema = dot != text.npos;
  const std::string_view schema = text.substr(0, has_schema ? dot : 0);
  const std::string_view table = has_schema ? text.substr(dot + 1) : text;
  if (!IsName(table) || (has_schema && !IsName(schema))) {
    *error = fmt::format(
        "table '{}' is not a name: write TABLE or SCHEMA.TABLE, each of at most {} bytes", text,
        kLongestName);
    return std::nullopt;
  }
  TableNames names;
  if (has_schema) names.in_schema_ = OpenQuote(schema) + "\".";
  names.table_ = OpenQuote(table);
  return names;
}

std::optional<TableNames> TableNames::OfTable(std::string_view name, std::string* error) const {
  TableNames names = *this;
  names.table_ += fmt::format(".{}", name);
  const std::size_t bytes = names.table_.size() - 1;  // a quote counts twice: never too few
  if (bytes <= kLongestName) return names;
  *error =
      fmt::format("the deployment's and the table's name have {} bytes with a dot: use at most {}",
                  bytes, kLongestName);
  return std::nullopt;
}

std::string TableNames::With(std::string_view suffix) const {
  return in_schema_ + WithoutSchema(suffix);
}

std::string TableNames::WithoutSchema(std::string_view suffix) const {
  return fmt::format("{}{}\"", table_, suffix);
}

}  // namespace stout::postgres
