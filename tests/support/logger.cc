// spdlog makes its logger at the first use, in a library that ThreadSanitizer does not see into.
// Two threads that log first look like a race. Here the logger is made before there are threads.

#include <spdlog/spdlog.h>

namespace {

[[maybe_unused]] const spdlog::logger* const kLogger = spdlog::default_logger_raw();

}  // namespace
