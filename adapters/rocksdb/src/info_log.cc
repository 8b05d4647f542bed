#include "info_log.h"

#include <spdlog/spdlog.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace stout::rocksdb_store {
namespace {

class InfoLog final : public rocksdb::Logger {
 public:
  explicit InfoLog(std::string path)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), path_(std::move(path)) {}

  using Logger::Logv;

  void Logv(const char* format, std::va_list arguments) override {
    std::array<char, 1024> text;  // longer ones are cut
    std::vsnprintf(text.data(), text.size(), format, arguments);
    spdlog::debug("rocksdb:{}: {}", path_, text.data());
  }

 private:
  const std::string path_;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> MakeInfoLog(std::string path) {
  return std::make_shared<InfoLog>(std::move(path));
}

}  // namespace stout::rocksdb_store
