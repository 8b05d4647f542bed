#pragma once

// A struct that is read from JSON, written to it, and has a schema, says what its fields are once:
//
//     template <typename Visitor, SameAs<StoreSpec> Store>
//     void Describe(Visitor& visit, Store& store) {
//       visit("rtt_us", store.rtt_us, AtLeast(0), "network round trip, half each way");
//       ...
//     }
//
// and these visitors do the rest: ReadFields, WriteFields, SchemaOf. A field may be a number, a
// text, an enum with NamesOf, a described struct, and an optional or a vector of these.

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rounding.h"

namespace stout::sim::internal {

namespace json = boost::json;

/// A field is not what it must be; what() is the line for the user.
struct FieldError : std::runtime_error {
  using runtime_error::runtime_error;
};
inline void Require(bool condition, const std::string& message) {
  if (!condition) throw FieldError(message);
}

/// The allowed values of a number. Texts and structs ignore it.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  ///< `min` itself is not allowed.
  bool below_max = false;  ///< `max` itself is not allowed.

  [[nodiscard]] bool Holds(double value) const {
    return (above_min ? value > min : value >= min) && (below_max ? value < max : value <= max);
  }
};
inline constexpr Range kAny{};
constexpr Range AtLeast(double min) { return {.min = min}; }
constexpr Range Above(double min) { return {.min = min, .above_min = true}; }
constexpr Range Between(double min, double max) { return {.min = min, .max = max}; }

/// "of at least 1", "above 0 and at most 5"; nothing where all is allowed.
std::string TextOf(const Range& range);

/// Returns the allowed text nearest to `text`: `; did you mean "count"?`. Returns "" if none is
/// near.
std::string DidYouMean(std::string_view text, std::span<const std::string_view> allowed);

/// A number that JSON holds as 16 hexadecimal digits: not every reader has 64-bit integers.
template <typename U>
struct Hex {
  U& value;
};
template <typename U>
Hex(U&) -> Hex<U>;

template <typename T, typename U>
concept SameAs = std::same_as<std::remove_const_t<T>, U>;

/// An enum that can be a field has `NamesOf(E)`, the names of its values in order.
template <typename E>
concept Named = std::is_enum_v<E> && requires(E e) {
  NamesOf(e);
};

struct NoVisitor {
  template <typename T>
  void operator()(std::string_view, T&&, const Range&, std::string_view) {}
};
template <typename T>
concept Described = requires(T& value, NoVisitor& visit) {
  Describe(visit, value);
};

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsHex = false;
template <typename U>
inline constexpr bool kIsHex<Hex<U>> = true;

// --- Reading -----------------------------------------------------------------------------------

[[noreturn]] void Refuse(const std::string& path, const json::value& value,
                         std::string_view must_be);
double ReadNumber(const std::string& path, const json::value& value, const Range& range);
std::uint64_t ReadInteger(const std::string& path, const json::value& value, const Range& range,
                          std::uint64_t type_max);
std::string ReadText(const std::string& path, const json::value& value);
std::size_t ReadName(const std::string& path, const json::value& value,
                     std::span<const std::string_view> names);
std::uint64_t ReadHex(const std::string& path, const json::value& value);
const json::object& ReadObject(const std::string& path, const json::value& value);

/// Visits the fields of one object: those that are there are read, those that are left are unknown.
class Reader {
 public:
  /// `path` names the object in errors; empty for the outermost.
  Reader(const json::object& object, std::string path) : object_(object), path_(std::move(path)) {}

  template <typename T>
  void operator()(std::string_view name, T&& field, const Range& range, std::string_view /*help*/) {
    known_.push_back(name);
    if (const json::value* const value = object_.if_contains(name)) {
      Read(path_.empty() ? std::string(name) : path_ + "." + std::string(name), *value, field,
           range);
    }
  }

  /// After all fields were visited.
  void RefuseUnknown() const;

  template <typename T>
  static void Read(const std::string& path, const json::value& value, T& field,
                   const Range& range) {
    if constexpr (Described<T>) {
      Reader reader(ReadObject(path, value), path);
      Describe(reader, field);
      reader.RefuseUnknown();
    } else if constexpr (kIsVector<T>) {
      if (!value.is_array()) Refuse(path, value, "an array");
      field.clear();
      for (const json::value& item : value.get_array()) {
        const std::string item_path = fmt::format("{}[{}]", path, field.size());
        Read(item_path, item, field.emplace_back(), range);
      }
    } else if constexpr (kIsOptional<T>) {
      Read(path, value, field.emplace(), range);
    } else if constexpr (Named<T>) {
      field = static_cast<T>(ReadName(path, value, NamesOf(field)));
    } else if constexpr (kIsHex<T>) {
      field.value = ReadHex(path, value);
    } else if constexpr (std::same_as<T, std::string>) {
      field = ReadText(path, value);
    } else if constexpr (std::same_as<T, bool>) {
      if (!value.is_bool()) Refuse(path, value, "true or false");
      field = value.get_bool();
    } else if constexpr (std::integral<T>) {
      field = static_cast<T>(ReadInteger(path, value, range, std::numeric_limits<T>::max()));
    } else {
      field = ReadNumber(path, value, range);
    }
  }

 private:
  const json::object& object_;
  std::string path_;
  std::vector<std::string_view> known_;
};

/// Throws FieldError. Fields that the JSON does not have stay as they are.
template <Described T>
void ReadFields(const json::value& value, T& into) {
  Reader::Read("", value, into, kAny);
}

/// As ReadFields, but passes over members of the outermost object that are no field of T.
template <Described T>
void ReadKnownFields(const json::value& value, T& into) {
  Reader reader(ReadObject("", value), "");
  Describe(reader, into);
}

// --- Writing -----------------------------------------------------------------------------------

template <typename T>
json::value ToJson(const T& field);

class Writer {
 public:
  template <typename T>
  void operator()(std::string_view name, const T& field, const Range&, std::string_view /*help*/) {
    if constexpr (kIsOptional<T>) {
      if (field) object_[name] = ToJson(*field);
    } else {
      object_[name] = ToJson(field);
    }
  }
  json::object Take() { return std::move(object_); }

 private:
  json::object object_;
};

template <typename T>
json::value ToJson(const T& field) {
  if constexpr (Described<const T>) {
    Writer writer;
    Describe(writer, field);
    return writer.Take();
  } else if constexpr (kIsVector<T>) {
    json::array array;
    for (const auto& item : field) array.push_back(ToJson(item));
    return array;
  } else if constexpr (Named<T>) {
    return json::string(NamesOf(field)[static_cast<std::size_t>(field)]);
  } else if constexpr (kIsHex<T>) {
    return json::string(fmt::format("{:016x}", field.value));
  } else if constexpr (std::same_as<T, double>) {
    // Whole numbers as such: 1000, not 1000.0. Others with more digits than any measurement has,
    // and no more than Boost.JSON reads back exactly.
    constexpr int kDigits = 12;
    constexpr double kExact = 9007199254740992.0;
    if (std::trunc(field) == field && std::abs(field) < kExact) {
      return static_cast<std::int64_t>(field);
    }
    return std::isfinite(field) ? RoundedTo(kDigits, field) : field;
  } else {
    return json::value_from(field);
  }
}

/// Every field.
template <Described T>
json::object WriteFields(const T& value) {
  return ToJson(value).as_object();
}

/// The fields whose values are not the default ones.
template <Described T>
json::object WriteChangedFields(const T& value);

/// Takes out of `object` what `defaults` has too.
void DropDefaults(json::object& object, const json::object& defaults);

template <Described T>
json::object WriteChangedFields(const T& value) {
  json::object object = WriteFields(value);
  DropDefaults(object, WriteFields(T{}));
  return object;
}

// --- The schema --------------------------------------------------------------------------------

json::object NumberSchema(std::string_view type, const Range& range);
json::object NamesSchema(std::span<const std::string_view> names);
/// Takes members of these names out, at every depth.
void DropKeys(json::value& schema, std::initializer_list<std::string_view> names);

template <typename T>
json::object SchemaOf(const T& default_value, const Range& range = kAny);

class SchemaWriter {
 public:
  template <typename T>
  void operator()(std::string_view name, const T& field, const Range& range,
                  std::string_view help) {
    json::object schema;
    if constexpr (kIsOptional<T>) {
      schema = SchemaOf(typename T::value_type{}, range);
    } else {
      schema = SchemaOf(field, range);
      if constexpr (!Described<const T>) schema["default"] = ToJson(field);
    }
    schema["description"] = help;
    properties_[name] = std::move(schema);
  }
  json::object Take() { return std::move(properties_); }

 private:
  json::object properties_;
};

/// JSON Schema of a type whose fields have these values by default.
template <typename T>
json::object SchemaOf(const T& default_value, const Range& range) {
  if constexpr (Described<const T>) {
    SchemaWriter writer;
    Describe(writer, default_value);
    return {{"type", "object"}, {"additionalProperties", false}, {"properties", writer.Take()}};
  } else if constexpr (kIsVector<T>) {
    return {{"type", "array"}, {"items", SchemaOf(typename T::value_type{}, range)}};
  } else if constexpr (Named<T>) {
    return NamesSchema(NamesOf(default_value));
  } else if constexpr (kIsHex<T>) {
    return {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}};
  } else if constexpr (std::same_as<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<T>) {
    return NumberSchema("integer", range);
  } else {
    return NumberSchema("number", range);
  }
}

}  // namespace stout::sim::internal
