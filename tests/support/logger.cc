// spdlog makes its logger when somebody first logs, in a library that ThreadSanitizer does not see
// into: two threads that log first look like a race. Here it is made before there are threads.

#include <spdlog/spdlog.h>

namespace {

[[maybe_unused]] const spdlog::logger* const kLogger = spdlog::default_logger_raw();

}  // namespace
