#include "blowfish/file/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "blowfish/file/file_error.h"
#include "blowfish/file/unique_fd.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {

void MappedFile::Unmap::operator()(std::byte* at) const { ::munmap(at, size); }

Result<MappedFile> MappedFile::Open(const std::string& path, Diagnostics* diagnostics) {
  // O_NONBLOCK: to open a pipe would wait for its writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return FailedCall(path, "open", errno, diagnostics);
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return FailedCall(path, "open", errno, diagnostics);
  if (S_ISDIR(status.st_mode)) return FailedCall(path, "open", EISDIR, diagnostics);
  if (!S_ISREG(status.st_mode)) {
    return Fail(Errc::kBadUrl,
                fmt::format("{}: cannot open: it is not a regular file; use another path", path),
                diagnostics);
  }
  MappedFile file;
  if (status.st_size == 0) return file;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return FailedCall(path, "map", errno, diagnostics);
  file.mapping_ = {static_cast<std::byte*>(at), Unmap{size}};
  return file;
}

}  // namespace stout::blowfish
