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
///     auto leases = OpenLeaseService("etcd://10.0.0.1:2379/docs", pool.get_executor(), &why);
///     if (!leases) return Complain(why.message);
///
/// May block until the service is reached. The executor's context must outlive it.
/// Errors: kBadUrl, and kTransient for a service that cannot be opened now. `diagnostics` has the
///   problem, and the schemes or options that exist.
[[nodiscard]] Result<std::unique_ptr<LeaseService>> OpenLeaseService(
    std::string_view url, const boost::asio::any_io_executor& executor,
    Diagnostics* diagnostics = nullptr);

/// Returns the syntax that OpenLeaseService reads, for help texts: one line for each kind that is
/// compiled in.
[[nodiscard]] std::string_view LeaseServiceUrlSyntax();

}  // namespace stout
