#pragma once

#include <boost/json.hpp>
#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stout::sim {

/// An error in a text, in one line that names the place and the remedy: `"clients.cuont" is
/// unknown; did you mean "count"?`. It does not name the file.
struct TextError {
  std::string what;
};

/// For `.value()` of a Parsed that holds an error.
[[noreturn]] inline void throw_exception_from_error(  // NOLINT(readability-identifier-naming)
    const TextError& error, const boost::source_location&) {
  throw std::invalid_argument(error.what);
}

template <typename T>
using Parsed = boost::system::result<T, TextError>;

/// Strict JSON; the error names line and column.
[[nodiscard]] Parsed<boost::json::value> ParseJson(std::string_view text);

/// Writes JSON for people and for diff. An object or array has one line if it fits, otherwise a
/// line per member; beyond `open_levels` it always has one line. Numbers are in their shortest form
/// (boost::json::serialize writes 2.5 as 2.5E0). A number that is not finite is null.
[[nodiscard]] std::string JsonText(const boost::json::value& value, int open_levels = 100);

}  // namespace stout::sim
