#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/http_options.h"
#include "program/address.h"
#include "server/documents.h"
#include "server/leased_documents.h"
#include "stout/core/policy/basic.h"

namespace stout::docstore {

/// What `docstore-server` is told on its command line and in its configuration file.
struct Config {
  std::string store = "rocksdb:./docstore-data";
  Address listen = {.port = 8080};
  std::size_t threads = 1;
  std::string leases;     ///< URL; empty: the store is ours alone.
  std::string advertise;  ///< HOST:PORT; empty: where it listens.
  std::size_t ranges = LeaseOptions().ranges;
  LeaseOptions lease;  ///< Its ranges are those above.
  DocumentsOptions documents;
  HttpOptions http;
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(30);
  std::string log_level = "info";
};

/// How policies are read from text: by default those of the library.
struct PolicyLanguage {
  /// As MakePolicy.
  std::optional<Policy> (*read)(std::string_view text, std::string* error) = MakePolicy;
  /// What it reads, for the help text.
  std::string_view (*syntax)() = PolicySyntax;
};

/// Reads the command line into `config`. Answers the exit code if the program is to end now: after
/// --help, or after an error, which has then been explained on stderr.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv, Config& config,
                                                  const PolicyLanguage& policies = {});

}  // namespace stout::docstore
