#pragma once

#include <boost/json.hpp>
#include <string>

namespace stout::report {

/// Writes JSON for people and for diff. An object or array has one line if it fits, otherwise a
/// line per member; beyond `open_levels` it always has one line. Numbers are in their shortest form
/// (boost::json::serialize writes 2.5 as 2.5E0). A number that is not finite is null.
[[nodiscard]] std::string JsonText(const boost::json::value& value, int open_levels = 100);

}  // namespace stout::report
