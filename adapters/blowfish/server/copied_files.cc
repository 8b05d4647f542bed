#include "blowfish/server/copied_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "blowfish/file/atomic_file.h"
#include "blowfish/file/file_error.h"

namespace stout::blowfish {
namespace {

constexpr std::string_view kCopyDirectory = "copy";

void RemoveTree(const std::filesystem::path& path) {
  std::error_code left;
  std::filesystem::remove_all(path, left);
  if (left) spdlog::warn("copy: {} is left: remove it", path.string());
}

}  // namespace

Result<std::string> MakeCopyDirectory(std::string_view of_server, Diagnostics* diagnostics) {
  std::string path = fmt::format("{}/{}{}XXXXXX", of_server, kCopyDirectory, kTemporaryMark);
  if (::mkdtemp(path.data()) == nullptr) return FailedCall(path, "create", errno, diagnostics);
  return path;
}

Result<std::vector<CopiedFile>> TakeFiles(const std::string& directory, Diagnostics* diagnostics) {
  std::vector<CopiedFile> files;
  ErrorCode failed;
  std::error_code unreadable;
  auto entry = std::filesystem::recursive_directory_iterator(directory, unreadable);
  for (; !failed && !unreadable && entry != end(entry); entry.increment(unreadable)) {
    if (!entry->is_regular_file(unreadable)) continue;
    const std::string path = entry->path().string();
    CopiedFile& file =
        files.emplace_back(CopiedFile{.name = entry->path().lexically_relative(directory).string(),
                                      .size = entry->file_size(unreadable),
                                      .fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))});
    if (!file.fd) failed = FailedCall(path, "open", errno, diagnostics);
  }
  if (!failed && unreadable)
    failed = FailedCall(directory, "list", unreadable.value(), diagnostics);
  RemoveTree(directory);
  if (failed) return failed;
  std::ranges::sort(files, {}, &CopiedFile::name);
  return files;
}

Result<std::string> ReadPiece(const CopiedFile& file, std::uint64_t offset,
                              Diagnostics* diagnostics) {
  std::string piece(std::min<std::uint64_t>(kCopiedPiece, file.size - std::min(offset, file.size)),
                    '\0');
  for (std::size_t done = 0; done < piece.size();) {
    const ssize_t size = ::pread(file.fd.get(), piece.data() + done, piece.size() - done,
                                 static_cast<off_t>(offset + done));
    if (size < 0 && errno == EINTR) continue;
    // Nothing shortens these files. If something did, the end is missing.
    if (size <= 0) return FailedCall(file.name, "read", size < 0 ? errno : EIO, diagnostics);
    done += static_cast<std::size_t>(size);
  }
  return piece;
}

void RemoveCopyDirectories(const std::string& of_server) {
  const std::string left = fmt::format("{}{}", kCopyDirectory, kTemporaryMark);
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(of_server, unreadable)) {
    if (entry.path().filename().string().starts_with(left)) RemoveTree(entry.path());
  }
}

}  // namespace stout::blowfish
