#include "stout/adapters/reconnection.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace stout {
namespace {

using namespace std::chrono_literals;

std::chrono::milliseconds Pause(std::size_t failures, std::chrono::milliseconds longest) {
  return std::min(50ms * (1 << std::min<std::size_t>(failures, 6)), longest);
}

}  // namespace

void Reconnection::Failed(TimePoint now, std::string error) {
  retry_at_ = now + Pause(failures_++, longest_pause_);
  if (error != last_error_) spdlog::warn("{}: {}", name_, error);
  last_error_ = std::move(error);
}

void Reconnection::Succeeded() {
  if (failures_ > 0) spdlog::info("{}: connected again", name_);
  failures_ = 0;
  retry_at_ = {};
  last_error_.clear();
}

void Reconnection::Log(const std::string& error) const { spdlog::error("{}: {}", name_, error); }

}  // namespace stout
