#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/file/index_file_format.h"
#include "blowfish/file/mapped_file.h"
#include "stout/error.h"

namespace stout::blowfish {

/// The parts that are compared with their checksums when a file is opened.
enum class Verify {
  kHeader,      ///< Header and table alone: a few pages are read, whatever the size.
  kEverything,  ///< Every byte of the file.
};

/// The access pattern that is announced to the system, which may ignore it.
enum class Access {
  kRandom,     ///< Here and there: nothing is read ahead.
  kWillNeed,   ///< Soon: reading starts now, in the background.
  kHugePages,  ///< Often: pages of 2 MiB, where the kernel has them for files (6 to 18 % faster).
};

/// An index file that an IndexFileWriter has published, mapped.
///
///     auto file = IndexFile::Open(path, "succinct", 1, Verify::kHeader, &why);
///     if (!file) return file.error();
///     std::optional<std::span<const std::byte>> keys = file->Find("keys");
///
/// Sections begin at multiples of 64 bytes, kBitPadding readable bytes follow each.
///
/// Owner: movable; sections stay in place, and are gone with it.   Threads: as a const value.
/// Errors: kCorrupt for a file that was cut, lengthened or altered, that the disk cannot read, or
///   that this library did not write; kBadUrl for another kind or a newer version; FailedCall's.
///   The diagnostics name the file and the remedy.   Danger: SIGBUS, see MappedFile. Open() and
///   Check() raise none since Linux 5.14, so that a bad sector does not end a start.
class IndexFile {
 public:
  struct Section {
    std::string name;
    std::span<const std::byte> bytes;
    std::uint64_t checksum;
  };

  /// `version` is the newest that the caller reads: version() tells which it is.
  [[nodiscard]] static Result<IndexFile> Open(const std::string& path, std::string_view kind,
                                              std::uint32_t version, Verify verify,
                                              Diagnostics* diagnostics = nullptr);

  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] std::uint64_t bytes() const { return file_.bytes().size(); }
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }

  /// The section of this name; they are few, and searched one by one.
  [[nodiscard]] std::optional<std::span<const std::byte>> Find(std::string_view name) const;

  /// Checks, at any time, the part of Verify::kEverything beyond kHeader. Returns kCorrupt or no
  /// error.
  [[nodiscard]] ErrorCode Check(Diagnostics* diagnostics = nullptr) const;

  /// `part` lies within a section.
  static void Advise(std::span<const std::byte> part, Access access);
  /// The same for the whole file.
  void Advise(Access access) const { Advise(file_.bytes(), access); }

 private:
  IndexFile(std::string path, MappedFile file) : path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] ErrorCode ReadHeader(std::string_view kind, std::uint32_t version,
                                     FileHeader* header, Diagnostics* diagnostics) const;
  [[nodiscard]] ErrorCode ReadTable(const FileHeader& header, Diagnostics* diagnostics);
  ErrorCode Damaged(std::string_view what, Diagnostics* diagnostics) const;

  std::string path_;
  MappedFile file_;
  std::uint32_t version_ = 0;
  std::vector<Section> sections_;
};

}  // namespace stout::blowfish
