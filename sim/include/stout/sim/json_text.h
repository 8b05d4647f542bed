#pragma once

#include <boost/json.hpp>
#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "report/json_text.h"

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

using report::JsonText;

}  // namespace stout::sim
