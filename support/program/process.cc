#include "program/process.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "stout/adapters/store_url.h"

namespace stout::program {

void SetUpLog(const std::string& name, const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt(name));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

void RaiseDescriptorLimit(std::size_t connections, std::string_view option) {
  constexpr std::size_t kOwn = 256;  // the store's files, and room
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < connections + kOwn) {
    spdlog::warn(
        "the system allows {} open files, and {} may need {}: raise 'ulimit -n' or lower the "
        "option",
        limit.rlim_cur, option, connections + kOwn);
  }
}

void Announce(const Address& address) {
  fmt::print("listening on {}\n", address.Text());
  std::fflush(stdout);
}

int CannotOpen(std::string_view what, const std::string& url, ErrorCode ec,
               const Diagnostics& why) {
  spdlog::error("cannot open {} {}: {}", what, Redacted(url),
                why.message.empty() ? ec.message() : why.message);
  return EXIT_FAILURE;
}

}  // namespace stout::program
