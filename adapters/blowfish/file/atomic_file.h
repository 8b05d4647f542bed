#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "blowfish/file/unique_fd.h"
#include "stout/error.h"

namespace stout::blowfish {

/// In the name of a file that is being written: NAME.tmp-XXXXXX.
inline constexpr std::string_view kTemporaryMark = ".tmp-";

/// Makes names that appeared or vanished in a directory durable. Returns false if the system cannot
/// do that; errno has the reason.
[[nodiscard]] bool SyncDirectory(const std::string& path);

/// A file that appears under its name whole and durable, or not at all.
///
/// It is written under a name of its own beside `path`. Any number of writers can therefore work on
/// one path: the last to publish wins. Unless it is published, its destructor removes it. Files
/// that a killed process leaves behind have kTemporaryMark in their names, and the owner of the
/// directory may remove them. Only the user may read and write the file (mode 0600).
///
/// Owner: movable.   Threads: none of its own; callers serialise.
/// Errors: FailedCall's. After an error only the destructor may be called.
class AtomicFile {
 public:
  /// Also fails where `path` is a directory, rather than when all is written.
  [[nodiscard]] static Result<AtomicFile> Create(std::string path, Diagnostics* diagnostics);

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] ErrorCode WriteAt(std::uint64_t offset, std::span<const std::byte> bytes,
                                  Diagnostics* diagnostics);

  /// Makes the file durable, then gives it its name, which another file may have had. That file
  /// lives on where it is open.
  /// Errors: kUnknown: it has the name, but a crash of the machine may undo that.
  [[nodiscard]] ErrorCode Publish(Diagnostics* diagnostics);

 private:
  // The name of a file that is removed at the end; none once it is empty.
  class Temporary {
   public:
    explicit Temporary(std::string name) : name_(std::move(name)) {}
    Temporary(Temporary&& other) noexcept : name_(std::exchange(other.name_, {})) {}
    Temporary& operator=(Temporary&& other) noexcept {
      std::swap(name_, other.name_);
      return *this;
    }
    ~Temporary() {
      if (!name_.empty()) ::unlink(name_.c_str());
    }

    [[nodiscard]] const char* name() const { return name_.c_str(); }
    void Keep() { name_.clear(); }

   private:
    std::string name_;
  };

  AtomicFile(std::string path, Temporary temporary, UniqueFd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

  std::string path_;
  Temporary temporary_;
  UniqueFd fd_;
};

/// Publishes a file with this text.   Errors: AtomicFile's.
[[nodiscard]] ErrorCode PublishText(const std::string& path, std::string_view text,
                                    Diagnostics* diagnostics);

}  // namespace stout::blowfish
