#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "stores/writer.h"

namespace stout::bench {

/// Plain libpq: each change is one prepared upsert of a row, in a transaction of its own.
/// Throws std::runtime_error with the server's words if it cannot connect.
[[nodiscard]] std::unique_ptr<Writer> OpenPostgresWriter(const std::string& url,
                                                         const WriterSpec& spec,
                                                         boost::asio::io_context& context);

}  // namespace stout::bench
