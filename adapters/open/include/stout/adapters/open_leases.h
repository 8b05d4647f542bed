#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string_view>

#include "stout/error.h"
#include "stout/lease_service.h"

namespace stout {

/// Opens a lease service by URL, of the kinds that are compiled in:
///
///     Diagnostics why;
///     auto leases = OpenLeaseService("postgres://app@db/app", context.get_executor(), &why);
///     if (!leases) return Complain(why.message);
///
/// Blocks until it is open. The executor, whose context must outlive the service, is for its timers
/// and sockets.
/// Errors: kBadUrl, and kTransient for a service that cannot be reached now; `diagnostics` says
///   what is wrong, and which schemes or options exist.
[[nodiscard]] Result<std::unique_ptr<LeaseService>> OpenLeaseService(
    std::string_view url, const boost::asio::any_io_executor& executor,
    Diagnostics* diagnostics = nullptr);

/// What OpenLeaseService reads, for help texts: one line for each kind that is compiled in.
[[nodiscard]] std::string_view LeaseUrlSyntax();

}  // namespace stout
