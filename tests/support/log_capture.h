#pragma once

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace stout::test {

// Keeps the lines that are logged during its life.
class LogCapture {
 public:
  LogCapture() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture() { spdlog::set_default_logger(former_); }

  // Requires that nothing logs at the same time.
  [[nodiscard]] std::string text() const { return text_.str(); }
  [[nodiscard]] int Count(const std::string& part) const {
    const std::string text = text_.str();
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> former_ = spdlog::default_logger();
};

}  // namespace stout::test
