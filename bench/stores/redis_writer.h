#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "stores/writer.h"

namespace stout::bench {

/// Each change is one SET, in Redis' protocol over Asio's sockets.
/// Throws std::runtime_error, whose text says what is wrong, if it cannot connect. Reads no
/// password from the URL: the server of a benchmark is private.
[[nodiscard]] std::unique_ptr<Writer> OpenRedisWriter(const std::string& url,
                                                      const WriterSpec& spec,
                                                      boost::asio::io_context& context);

}  // namespace stout::bench
