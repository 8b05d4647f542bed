#pragma once

#include <spdlog/spdlog.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace stout::blowfish {

/// The directory that STOUT.BACKUP, or STOUT.COPY without arguments, fills. It is removed at the
/// end, unless it got another name before.
class BackupTarget {
 public:
  explicit BackupTarget(std::string temporary) : temporary_(std::move(temporary)) {}
  BackupTarget(BackupTarget&& other) noexcept
      : temporary_(std::exchange(other.temporary_, std::string())) {}
  BackupTarget& operator=(BackupTarget&& other) noexcept {
    temporary_.swap(other.temporary_);
    return *this;
  }
  ~BackupTarget() {
    if (temporary_.empty()) return;
    std::error_code left;
    std::filesystem::remove_all(temporary_, left);
    if (left) spdlog::warn("backup: {} is left: remove it", temporary_);
  }

  [[nodiscard]] const std::string& temporary() const { return temporary_; }

 private:
  std::string temporary_;
};

}  // namespace stout::blowfish
