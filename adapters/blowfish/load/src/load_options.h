#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "loader_options.h"
#include "record_splitter.h"
#include "stout/error.h"

namespace stout::blowfish {

enum class ExitCode : int { kOk = 0, kFailed = 1, kBadOptions = 2, kInterrupted = 130 };

/// What blowfish-load is to do.
struct LoadOptions {
  std::vector<std::string> files;  ///< "-" is the standard input.
  LoaderOptions loader{};
  SplitOptions split{};
  std::size_t max_line = std::size_t{1} << 20;
  std::uint64_t skip_lines = 0;  ///< Of all files together.
  bool skip_header = false;      ///< The first line of each file.
  bool quiet = false;            ///< Errors alone are printed.
  bool dry_run = false;          ///< Nothing is sent.
};

struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// "127.0.0.1:6480", "[::1]:6480". kBadUrl
[[nodiscard]] Result<HostPort> ParseHostPort(std::string_view text);

/// Reads the command line. Otherwise it has printed to stdout (--help) or stderr (what is wrong, by
/// its option's name) and answers how to end. `password`: of the environment, may be null.
[[nodiscard]] std::variant<LoadOptions, ExitCode> ParseLoadOptions(int argc,
                                                                   const char* const* argv,
                                                                   const char* password);

}  // namespace stout::blowfish
