#pragma once

#include <boost/json.hpp>

#include "stout/sim/json_text.h"
#include "stout/sim/result.h"

namespace stout::sim {

/// Every field of a result by its name; the digest as 16 hexadecimal digits.
[[nodiscard]] boost::json::object ResultToJson(const Result& result);

/// Reads what ResultToJson wrote. Members that are no field of a result are ignored: tools add to
/// it what they know.
[[nodiscard]] Parsed<Result> ResultFromJson(const boost::json::value& value);

/// JSON Schema of what ResultToJson writes; FieldTable makes the documentation's table from it.
[[nodiscard]] boost::json::object ResultSchema();

}  // namespace stout::sim
