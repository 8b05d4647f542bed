#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "stout/error.h"

namespace stout::blowfish {

/// A whole file, mapped for reading, and unmapped at the end.
///
/// The mapping shares the system's page cache. The file takes memory once for any number of
/// mappings, and gives it back under pressure. The mapping still shows the opened file after
/// another file has taken the name.
///
/// Owner: movable; moving leaves bytes() in place.   Threads: as a const value. Danger: if the file
///   is shortened meanwhile, or the disk fails to read, an access raises SIGBUS, which ends the
///   process. That is accepted. Files are never changed in place, only written under another name
///   and renamed. Copies or locks would not help against a failing disk.
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
