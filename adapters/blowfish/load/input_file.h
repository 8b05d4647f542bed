#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "blowfish/file/unique_fd.h"
#include "stout/error.h"
#include "unpack/zstd_unpacker.h"

namespace stout::blowfish {

/// A file that is read from its beginning to its end: "-" is the standard input, and what is named
/// *.zst is unpacked. A file packed by gzip is refused.
class InputFile {
 public:
  /// kBadUrl or kTransient; the diagnostics name the file and the remedy.
  [[nodiscard]] static Result<InputFile> Open(const std::string& path, Diagnostics* diagnostics);

  /// Reads the next bytes, unpacked. Returns 0 at the end, see ended(), and also if what it has
  /// read of a packed file has no bytes yet. Blocks only if needs_input(), see size().
  /// Errors: as Open, and kCorrupt where it is no zstd, or is cut off.
  [[nodiscard]] Result<std::size_t> Read(std::span<char> out, Diagnostics* diagnostics);
  [[nodiscard]] bool ended() const { return ended_; }
  /// The next Read() begins with a read of fd().
  [[nodiscard]] bool needs_input() const { return needs_input_; }

  /// As errors call it.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the size on the disk of a regular file. Other files may wait for more data: first
  /// check whether fd() has something to read.
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }
  /// Bytes read so far, as they are on the disk.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  InputFile(std::string name, UniqueFd fd, bool packed)
      : name_(std::move(name)), fd_(std::move(fd)), is_packed_(packed) {}
  [[nodiscard]] Result<std::size_t> ReadRaw(std::span<char> out, Diagnostics* diagnostics);

  std::string name_;
  UniqueFd fd_;
  std::optional<std::uint64_t> size_;
  std::uint64_t position_ = 0;
  bool is_packed_;
  bool needs_input_ = true;
  bool ended_ = false;
  // Once it is read, because many files may be open.
  std::unique_ptr<unpack::ZstdUnpacker> unpacker_;
  std::string buffer_;
  std::string_view packed_;  // rest of the buffer
};

}  // namespace stout::blowfish
