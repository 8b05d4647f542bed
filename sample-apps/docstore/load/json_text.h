#pragma once

#include <boost/json.hpp>
#include <string>

namespace stout::load {

/// Writes JSON for people and for diff. Members of the outer objects and elements of their arrays
/// have lines of their own; deeper values share a line. Numbers have their shortest decimal form
/// (boost::json::serialize writes 2.5 as 2.5E0).
[[nodiscard]] std::string JsonText(const boost::json::value& value);

}  // namespace stout::load
