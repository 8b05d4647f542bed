#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/documents.h"
#include "server/http_options.h"

namespace stout::docstore {

/// What `docstore-server` is told on its command line and in its configuration file.
struct Config {
  std::string store = "rocksdb:./docstore-data";
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::size_t threads = 1;
  DocumentsOptions documents;
  HttpOptions http;
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(30);
  std::string log_level = "info";
};

/// Reads the command line into `config`. Answers the exit code if the program is to end now: after
/// --help, or after an error, which has then been explained on stderr.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                                  Config& config);

}  // namespace stout::docstore
