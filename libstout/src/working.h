#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>

namespace stout::internal {

/// Returns an executor that keeps the context of the strand running while it exists.
inline boost::asio::any_io_executor Working(
    const boost::asio::strand<boost::asio::any_io_executor>& strand) {
  return boost::asio::prefer(strand.get_inner_executor(),
                             boost::asio::execution::outstanding_work.tracked);
}

}  // namespace stout::internal
