#include "blowfish/file/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "blowfish/file/file_error.h"

namespace stout::blowfish {
namespace {

bool IsDirectory(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string DirectoryOf(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

}  // namespace

bool SyncDirectory(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0;
}

Result<AtomicFile> AtomicFile::Create(std::string path, Diagnostics* diagnostics) {
  if (IsDirectory(path)) return FailedCall(path, "create", EISDIR, diagnostics);
  std::string name = path;
  name.append(kTemporaryMark).append("XXXXXX");
  UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return FailedCall(path, "create", errno, diagnostics);
  return AtomicFile(std::move(path), Temporary(std::move(name)), std::move(fd));
}

ErrorCode AtomicFile::WriteAt(std::uint64_t offset, std::span<const std::byte> bytes,
                              Diagnostics* diagnostics) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return FailedCall(path_, "write", errno, diagnostics);
    }
    offset += written;
    bytes = bytes.subspan(written);
  }
  return {};
}

ErrorCode AtomicFile::Publish(Diagnostics* diagnostics) {
  // Before it has the name, or a crash could leave the name with half a file.
  if (::fsync(fd_.get()) != 0) return FailedCall(path_, "write", errno, diagnostics);
  if (::rename(temporary_.name(), path_.c_str()) != 0) {
    return FailedCall(path_, "create", errno, diagnostics);
  }
  temporary_.Keep();
  if (!SyncDirectory(DirectoryOf(path_))) {
    (void)FailedCall(path_, "make its name durable", errno, diagnostics);
    return Errc::kUnknown;
  }
  return {};
}

ErrorCode PublishText(const std::string& path, std::string_view text, Diagnostics* diagnostics) {
  auto file = AtomicFile::Create(path, diagnostics);
  if (!file) return file.error();
  if (const auto failed = file->WriteAt(0, std::as_bytes(std::span(text)), diagnostics))
    return failed;
  return file->Publish(diagnostics);
}

}  // namespace stout::blowfish
