#include "fields.h"

#include <charconv>
#include <numeric>

#include "stout/sim/json_text.h"

namespace stout::sim::internal {
namespace {

/// Levenshtein's distance: insertions, deletions and replacements that turn one into the other.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string Excerpt(const json::value& value) {
  constexpr std::size_t kLongest = 40;
  std::string text = JsonText(value, 0);
  text.pop_back();  // the end of the line
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string Kind(std::string_view noun, const Range& range) {
  const std::string bounds = TextOf(range);
  return bounds.empty() ? std::string(noun) : fmt::format("{} {}", noun, bounds);
}

}  // namespace

std::string TextOf(const Range& range) {
  std::string text;
  if (std::isfinite(range.min)) {
    text = fmt::format("{} {:.15g}", range.above_min ? "above" : "of at least", range.min);
  }
  if (std::isfinite(range.max)) {
    text += fmt::format("{}{} {:.15g}", text.empty() ? "" : " and ",
                        range.below_max ? "below" : "at most", range.max);
  }
  return text;
}

std::string DidYouMean(std::string_view text, std::span<const std::string_view> allowed) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, text.size() / 3) + 1;
  for (const std::string_view candidate : allowed) {
    const std::size_t distance = EditDistance(text, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

void Refuse(const std::string& path, const json::value& value, std::string_view must_be) {
  throw FieldError(path.empty()
                       ? fmt::format("it is {}; it must be {}", Excerpt(value), must_be)
                       : fmt::format("\"{}\" is {}; it must be {}", path, Excerpt(value), must_be));
}

double ReadNumber(const std::string& path, const json::value& value, const Range& range) {
  const std::string must_be = Kind("a number", range);
  if (!value.is_number()) Refuse(path, value, must_be);
  const auto number = value.to_number<double>();
  if (!range.Holds(number)) Refuse(path, value, must_be);
  return number;
}

std::uint64_t ReadInteger(const std::string& path, const json::value& value, const Range& range,
                          std::uint64_t type_max) {
  Range bounds = range;
  bounds.min = std::max(bounds.min, 0.0);
  const std::string must_be = Kind("an integer", bounds);
  if (!value.is_number() || !bounds.Holds(value.to_number<double>())) Refuse(path, value, must_be);
  boost::system::error_code ec;  // set by 1.5, 1e30 and the like; 1e6 is an integer
  const auto number = value.to_number<std::uint64_t>(ec);
  if (ec || number > type_max) Refuse(path, value, must_be);
  return number;
}

std::string ReadText(const std::string& path, const json::value& value) {
  if (!value.is_string()) Refuse(path, value, "a text in quotes");
  return std::string(value.get_string());
}

std::size_t ReadName(const std::string& path, const json::value& value,
                     std::span<const std::string_view> names) {
  const std::string must_be = fmt::format("one of {}", fmt::join(names, ", "));
  if (!value.is_string()) Refuse(path, value, must_be);
  const std::string_view name = value.get_string();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) Refuse(path, value, must_be + DidYouMean(name, names));
  return static_cast<std::size_t>(found - names.begin());
}

std::uint64_t ReadHex(const std::string& path, const json::value& value) {
  const std::string text = ReadText(path, value);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    Refuse(path, value, "hexadecimal digits");
  }
  return number;
}

const json::object& ReadObject(const std::string& path, const json::value& value) {
  if (!value.is_object()) Refuse(path, value, "an object {...}");
  return value.get_object();
}

void Reader::RefuseUnknown() const {
  for (const auto& member : object_) {
    const std::string_view name = member.key();
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string place = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
    std::string hint = DidYouMean(name, known_);
    if (hint.empty()) hint = fmt::format("; allowed here: {}", fmt::join(known_, ", "));
    throw FieldError(fmt::format("\"{}\" is unknown{}", place, hint));
  }
}

void DropDefaults(json::object& object, const json::object& defaults) {
  for (const auto& member : defaults) {
    json::value* const value = object.if_contains(member.key());
    if (value == nullptr) continue;
    if (value->is_object()) DropDefaults(value->get_object(), member.value().as_object());
    const bool empty = value->is_object() && value->get_object().empty();
    if (empty || *value == member.value()) object.stable_erase(object.find(member.key()));
  }
}

json::object NumberSchema(std::string_view type, const Range& range) {
  Range bounds = range;
  if (type == "integer") bounds.min = std::max(bounds.min, 0.0);
  json::object schema{{"type", type}};
  if (std::isfinite(bounds.min)) {
    schema[bounds.above_min ? "exclusiveMinimum" : "minimum"] = ToJson(bounds.min);
  }
  if (std::isfinite(bounds.max)) {
    schema[bounds.below_max ? "exclusiveMaximum" : "maximum"] = ToJson(bounds.max);
  }
  return schema;
}

json::object NamesSchema(std::span<const std::string_view> names) {
  json::array allowed;
  for (const std::string_view name : names) allowed.emplace_back(name);
  return {{"enum", std::move(allowed)}};
}

void DropKeys(json::value& schema, std::initializer_list<std::string_view> names) {
  if (schema.is_array()) {
    for (json::value& item : schema.get_array()) DropKeys(item, names);
  }
  if (!schema.is_object()) return;
  json::object& object = schema.get_object();
  for (const std::string_view name : names) {
    if (const auto found = object.find(name); found != object.end()) object.stable_erase(found);
  }
  for (auto& member : object) DropKeys(member.value(), names);
}

}  // namespace stout::sim::internal
