#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <string>

#include "stout/core/errc.h"

namespace stout::inline v1 {

/// The error code of asynchronous and synchronous calls. It does not allocate.
using ErrorCode = boost::system::error_code;

/// A value or an ErrorCode.
template <typename T>
using Result = boost::system::result<T>;

/// Returns the category of Errc. It is one object, because categories compare by address.
[[nodiscard]] const boost::system::error_category& ErrorCategory() noexcept;

/// Argument-dependent look-up finds it, so `ErrorCode ec = Errc::kFenced;` compiles.
[[nodiscard]] inline ErrorCode make_error_code(Errc errc) noexcept {  // NOLINT: Boost's spelling
  return {static_cast<int>(errc), ErrorCategory()};
}

/// The longer text behind an error code: the option or file, and the remedy.
struct Diagnostics {
  std::string message;
};

}  // namespace stout::inline v1

template <>
struct boost::system::is_error_code_enum<stout::Errc> : std::true_type {};

namespace stout::inline v1 {

/// Returns the Errc in an error code: kOk if it is no error, and `foreign` if it is of another
/// category.
[[nodiscard]] inline Errc ErrcOf(const ErrorCode& ec, Errc foreign = Errc::kTransient) noexcept {
  if (!ec) return Errc::kOk;
  return ec.category() == ErrorCategory() ? static_cast<Errc>(ec.value()) : foreign;
}

/// As IsRefusal(Errc); false for errors of other categories.
[[nodiscard]] inline bool IsRefusal(const ErrorCode& ec) noexcept { return IsRefusal(ErrcOf(ec)); }

/// As IsOnlyRefused(Errc); false for errors of other categories.
[[nodiscard]] inline bool IsOnlyRefused(const ErrorCode& ec) noexcept {
  return IsOnlyRefused(ErrcOf(ec));
}

}  // namespace stout::inline v1
