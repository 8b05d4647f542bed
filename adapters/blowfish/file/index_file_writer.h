#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/file/atomic_file.h"
#include "blowfish/file/checksum.h"
#include "blowfish/file/index_file_format.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Writes an index file, section after section; IndexFile reads it.
///
///     auto writer = IndexFileWriter::Create(path, "succinct", 1, &why);
///     if (!writer) return writer.error();
///     writer->Add("keys", keys);
///     writer->Begin("psi");
///     while (...) writer->Append(block);
///     writer->End();
///     if (ErrorCode error = writer->Publish(&why)) ...
///
/// Nobody sees the file before Publish(), and a writer that ends without it leaves nothing behind:
/// see AtomicFile. Misuse of the order of calls and of names is asserted.
///
/// Memory: a buffer of 256 KiB; what is appended may be freed at once.   Owner: movable.
/// Threads: none of its own; callers serialise.
/// Errors: FailedCall's, in Create() and Publish(). If a write fails in between, the rest is
/// dropped and Publish() reports it; error() tells it earlier, to builders that can save themselves
/// the work.
class IndexFileWriter {
 public:
  /// `kind`, 1 to 16 characters, and `version` are what readers of the sections ask for.
  [[nodiscard]] static Result<IndexFileWriter> Create(std::string path, std::string_view kind,
                                                      std::uint32_t version,
                                                      Diagnostics* diagnostics = nullptr);

  /// Starts a section; its name has 1 to 24 characters and is the file's only one.
  void Begin(std::string_view name);
  void Append(std::span<const std::byte> bytes);  ///< Within a section.
  void End();

  /// A whole section.
  void Add(std::string_view name, std::span<const std::byte> bytes);

  [[nodiscard]] ErrorCode error() const { return error_; }

  /// Size of the file so far.
  [[nodiscard]] std::uint64_t bytes() const { return flushed_ + buffer_.size(); }

  /// Ends the file: it is durable and has its name, and the writer is of no more use.
  [[nodiscard]] ErrorCode Publish(Diagnostics* diagnostics = nullptr);

 private:
  IndexFileWriter(AtomicFile file, std::string_view kind, std::uint32_t version);

  void Write(std::span<const std::byte> bytes);
  void Flush();

  AtomicFile file_;
  FileHeader header_;
  std::vector<SectionEntry> table_;
  bool in_section_ = false;
  RunningChecksum checksum_;  // checksum of the section

  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;  // Bytes that the file has.
  ErrorCode error_;
  Diagnostics why_;
};

}  // namespace stout::blowfish
