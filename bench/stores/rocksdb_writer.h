#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "stores/writer.h"

namespace stout::bench {

/// Each change is one Put that waits for the disk. The connections are threads: RocksDB syncs once
/// for all that wait at a time. There is no pipelining.
/// Throws std::runtime_error with RocksDB's words if the database cannot be opened.
[[nodiscard]] std::unique_ptr<Writer> OpenRocksDbWriter(const std::string& path,
                                                        const WriterSpec& spec,
                                                        boost::asio::io_context& context);

}  // namespace stout::bench
