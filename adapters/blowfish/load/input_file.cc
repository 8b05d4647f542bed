#include "blowfish/load/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "blowfish/file/file_error.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{128} << 10;  // zstd's blocks are no longer

// No text begins with it.
constexpr std::string_view kGzipMagic = "\x1f\x8b\x08";

ErrorCode FailAsGzip(const std::string& name, Diagnostics* diagnostics) {
  return Fail(Errc::kBadUrl,
              fmt::format("{}: is packed by gzip: run `zcat FILE | blowfish-load ... -`", name),
              diagnostics);
}

}  // namespace

Result<InputFile> InputFile::Open(const std::string& path, Diagnostics* diagnostics) {
  const bool standard = path == "-";
  // A copy of the standard input's, for this one will be closed.
  UniqueFd fd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                       : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  InputFile file(standard ? "standard input" : path, std::move(fd), path.ends_with(".zst"));
  struct stat status {};
  if (!file.fd_ || ::fstat(file.fd(), &status) != 0) {
    return FailedCall(file.name_, "open", errno, diagnostics);
  }
  if (S_ISDIR(status.st_mode)) return FailedCall(file.name_, "read", EISDIR, diagnostics);
  if (S_ISREG(status.st_mode)) {
    file.size_ = static_cast<std::uint64_t>(status.st_size);
    std::array<char, kGzipMagic.size()> first{};
    if (::pread(file.fd(), first.data(), first.size(), 0) == std::ssize(first) &&
        std::string_view(first.data(), first.size()) == kGzipMagic)
      return FailAsGzip(file.name_, diagnostics);
  }
  return file;
}

Result<std::size_t> InputFile::ReadRaw(std::span<char> out, Diagnostics* diagnostics) {
  ssize_t size;
  do {
    size = ::read(fd(), out.data(), out.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0) return FailedCall(name_, "read", errno, diagnostics);
  if (position_ == 0 && size > 0 &&
      std::string_view(out.data(), static_cast<std::size_t>(size)).starts_with(kGzipMagic))
    return FailAsGzip(name_, diagnostics);
  ended_ = size == 0;
  position_ += static_cast<std::uint64_t>(size);
  return static_cast<std::size_t>(size);
}

Result<std::size_t> InputFile::Read(std::span<char> out, Diagnostics* diagnostics) {
  if (!is_packed_) return ReadRaw(out, diagnostics);
  if (!unpacker_) {
    unpacker_ = std::make_unique<unpack::ZstdUnpacker>();
    buffer_.resize(kPackedBytes);
  }
  if (needs_input_) {
    const Result<std::size_t> read = ReadRaw(buffer_, diagnostics);
    if (!read) return read.error();
    if (ended_ && !unpacker_->at_end_of_frame()) {
      return Fail(
          Errc::kCorrupt,
          fmt::format("{}: ends within a zstd frame, so it is incomplete; copy it again", name_),
          diagnostics);
    }
    packed_ = std::string_view(buffer_).substr(0, *read);
    needs_input_ = ended_;
  }
  while (!needs_input_) {
    const std::uint64_t unpacked = position_ - packed_.size();  // an error empties packed_
    // Also where nothing is left of the input: of it, there may be more to say than had room.
    const std::size_t size = unpacker_->Unpack(packed_, out);
    if (!unpacker_->error().empty()) {
      return Fail(Errc::kCorrupt,
                  fmt::format("{}: cannot unpack at or after byte {}: {}; see `zstd -t`", name_,
                              unpacked, unpacker_->error()),
                  diagnostics);
    }
    if (size > 0) return size;
    needs_input_ = packed_.empty();
  }
  return std::size_t{0};
}

}  // namespace stout::blowfish
