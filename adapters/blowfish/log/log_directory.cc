#include "blowfish/log/log_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "blowfish/file/atomic_file.h"
#include "blowfish/file/unique_fd.h"

namespace stout::blowfish {
namespace {

ErrorCode SystemError() { return {errno, boost::system::system_category()}; }

// Calls again what a signal has interrupted.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class PosixFile : public LogFile {
 public:
  PosixFile(UniqueFd fd, bool created) : fd_(std::move(fd)), resized_(created) {}

  Result<std::size_t> Write(std::uint64_t offset, std::string_view bytes) override {
    const ssize_t written = Uninterrupted([&] {
      return ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
    if (written < 0) return SystemError();
    return static_cast<std::size_t>(written);
  }

  // fdatasync() promises the metadata that reading needs. That a file is new, or shorter than it
  // was, is left to fsync().
  ErrorCode Sync() override {
    if (Uninterrupted([&] { return resized_ ? ::fsync(fd_.get()) : ::fdatasync(fd_.get()); }) < 0) {
      return SystemError();
    }
    resized_ = false;
    return {};
  }

  ErrorCode Truncate(std::uint64_t size) override {
    resized_ = true;
    if (Uninterrupted([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) < 0) {
      return SystemError();
    }
    return {};
  }

 private:
  UniqueFd fd_;
  bool resized_;  // Since the last sync.
};

class PosixDirectory : public LogDirectory {
 public:
  PosixDirectory(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  const std::string& path() const override { return path_; }

  Result<std::vector<std::string>> List() override { return ListNames(path_); }

  Result<std::string> Read(const std::string& name, std::uint64_t limit) override {
    const UniqueFd file(OpenAt(name, O_RDONLY));
    struct stat status = {};
    if (file.get() < 0 || ::fstat(file.get(), &status) < 0) return SystemError();
    std::string bytes(std::min<std::uint64_t>(limit, status.st_size), '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t count = Uninterrupted([&] {
        return ::pread(file.get(), bytes.data() + filled, bytes.size() - filled,
                       static_cast<off_t>(filled));
      });
      if (count < 0) return SystemError();
      if (count == 0) break;  // Someone has cut it meanwhile.
      filled += count;
    }
    bytes.resize(filled);
    return bytes;
  }

  Result<std::unique_ptr<LogFile>> Create(const std::string& name) override {
    return OpenForWriting(name, O_CREAT | O_EXCL);
  }
  Result<std::unique_ptr<LogFile>> Open(const std::string& name) override {
    return OpenForWriting(name, 0);
  }

  ErrorCode Remove(const std::string& name) override {
    if (::unlinkat(fd_.get(), name.c_str(), 0) < 0 && errno != ENOENT) return SystemError();
    return {};
  }

  ErrorCode Sync() override {
    if (Uninterrupted([&] { return ::fsync(fd_.get()); }) < 0) return SystemError();
    return {};
  }

 private:
  [[nodiscard]] int OpenAt(const std::string& name, int flags) const {
    return Uninterrupted(
        [&] { return ::openat(fd_.get(), name.c_str(), flags | O_CLOEXEC, 0600); });
  }
  Result<std::unique_ptr<LogFile>> OpenForWriting(const std::string& name, int flags) {
    UniqueFd file(OpenAt(name, O_WRONLY | flags));
    if (file.get() < 0) return SystemError();
    return std::unique_ptr<LogFile>(std::make_unique<PosixFile>(std::move(file), flags != 0));
  }

  const std::string path_;
  const UniqueFd fd_;  // Also holds the lock.
};

ErrorCode MakeWithThoseAbove(const std::filesystem::path& path) {
  std::error_code error;
  if (path.empty() || std::filesystem::is_directory(path, error)) return {};
  const std::filesystem::path above = path.parent_path();
  if (const ErrorCode failed = MakeWithThoseAbove(above)) return failed;
  if (::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST) return SystemError();
  if (!SyncDirectory(above.empty() ? "." : above.string())) return SystemError();
  return {};
}

}  // namespace

ErrorCode WriteAll(LogFile& file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const Result<std::size_t> written = file.Write(offset, bytes);
    if (!written) return written.error();
    if (*written == 0) return {EIO, boost::system::system_category()};
    offset += *written;
    bytes.remove_prefix(*written);
  }
  return {};
}

Result<std::vector<std::string>> ListNames(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return ErrorCode(error.value(), boost::system::system_category());
  return names;
}

ErrorCode MakeDurably(const std::string& path) {
  return MakeWithThoseAbove(std::filesystem::path(path).lexically_normal());
}

Result<std::unique_ptr<LogDirectory>> OpenLogDirectory(const std::string& path,
                                                       Diagnostics* diagnostics) {
  const auto refused = [&](std::string why) {
    if (diagnostics) diagnostics->message = fmt::format("{}: {}", path, why);
    return Errc::kTransient;
  };
  if (const ErrorCode error = MakeDurably(path)) {
    return refused(fmt::format("cannot make the folder: {}", error.message()));
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return refused(SystemError().message());
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) < 0) {
    return refused(errno == EWOULDBLOCK
                       ? "in use by another process: stop the blowfish-server that has it"
                       : SystemError().message());
  }
  return std::unique_ptr<LogDirectory>(std::make_unique<PosixDirectory>(path, std::move(fd)));
}

}  // namespace stout::blowfish
