#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "stout/error.h"

namespace stout::blowfish {

/// A whole file, mapped to be read; unmapped at the end.
///
/// The mapping shares the system's page cache: the file takes memory once however many map it, and
/// gives it back under pressure. It goes on to show the file that it opened where another one has
/// taken the name since.
///
/// Owner: movable; moving leaves bytes() where it is.   Threads: as a const value.
/// Danger: where somebody shortens the file meanwhile, or the disk fails to read, the access raises
/// SIGBUS, which ends the process. That is accepted: files are never changed in place, only written
/// under another name and renamed; to copy or to lock them would not help against a failing disk.
class MappedFile {
 public:
  /// FailedCall's errors; kBadUrl for what is no regular file.
  [[nodiscard]] static Result<MappedFile> Open(const std::string& path, Diagnostics* diagnostics);

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {mapping_.get(), mapping_ ? mapping_.get_deleter().size : 0};
  }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(std::byte* at) const;
  };

  // Empty for an empty file, which cannot be mapped.
  std::unique_ptr<std::byte, Unmap> mapping_;
};

}  // namespace stout::blowfish
