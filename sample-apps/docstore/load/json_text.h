#pragma once

#include <boost/json.hpp>
#include <string>

namespace stout::load {

/// JSON for people and diff alike: members of the outer objects and elements of their arrays on
/// lines of their own, everything deeper on one line; numbers in their shortest decimal form
/// (boost::json::serialize writes 2.5 as 2.5E0).
[[nodiscard]] std::string JsonText(const boost::json::value& value);

}  // namespace stout::load
