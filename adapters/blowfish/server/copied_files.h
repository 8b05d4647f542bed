#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/file/unique_fd.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Maximum bytes of a file in one reply to STOUT.COPY. A reply holds up other clients for the time
/// in which the connections' thread sends it, so it is small.
inline constexpr std::size_t kCopiedPiece = std::size_t{256} << 10;

/// A file that a client copies. It is open and has no name any more, so it is gone with the
/// connection, and with the process.
struct CopiedFile {
  std::string name;  ///< relative to the directory of a server
  std::uint64_t size = 0;
  UniqueFd fd;
};

/// Makes a directory in that of the server, for the links to the files of one copy.
/// Errors: FailedCall's.
[[nodiscard]] Result<std::string> MakeCopyDirectory(std::string_view of_server,
                                                    Diagnostics* diagnostics);

/// Opens all files below the directory, and removes it.   Errors: FailedCall's.   Blocks.
[[nodiscard]] Result<std::vector<CopiedFile>> TakeFiles(const std::string& directory,
                                                        Diagnostics* diagnostics);

/// Returns the bytes of the file from `offset` on, kCopiedPiece at most, or up to its end.
/// Errors: FailedCall's.   Blocks.
[[nodiscard]] Result<std::string> ReadPiece(const CopiedFile& file, std::uint64_t offset,
                                            Diagnostics* diagnostics);

/// Removes the directories of copies that a killed server has left. No server uses the directory.
void RemoveCopyDirectories(const std::string& of_server);

}  // namespace stout::blowfish
