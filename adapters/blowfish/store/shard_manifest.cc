#include "blowfish/store/shard_manifest.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <string_view>

#include "blowfish/file/index_file.h"
#include "blowfish/file/index_file_writer.h"
#include "blowfish/store/succinct_store_format.h"

namespace stout::blowfish {
namespace {

constexpr std::string_view kKind = "shard";
constexpr std::uint32_t kVersion = 1;

constexpr std::string_view kSchema = "schema";
constexpr std::string_view kNumbers = "numbers";  // as below
constexpr std::string_view kRecords = "records";  // a name

struct Numbers {
  std::uint64_t shard;
  std::uint64_t first_sequence;
};

std::string PathOf(const std::string& directory) {
  return fmt::format("{}/{}", directory, kManifestName);
}

}  // namespace

Result<ShardManifest> ReadManifest(const std::string& directory, Diagnostics* diagnostics) {
  const std::string path = PathOf(directory);
  const auto file = IndexFile::Open(path, kKind, kVersion, Verify::kEverything, diagnostics);
  if (!file) return file.error();
  const auto schema = file->Find(kSchema);
  const auto numbers = file->Find(kNumbers);
  const auto records = file->Find(kRecords);
  if (schema && numbers && numbers->size() == sizeof(Numbers) && records) {
    const Result<Schema> decoded = DecodeSchema(*schema);
    if (decoded) {
      Numbers read;
      std::memcpy(&read, numbers->data(), sizeof read);
      return ShardManifest{
          .schema = *decoded,
          .shard = read.shard,
          .records = std::string(reinterpret_cast<const char*>(records->data()), records->size()),
          .first_sequence = read.first_sequence};
    }
  }
  if (diagnostics) {
    diagnostics->message = fmt::format("{}: a part is missing; restore it from a copy", path);
  }
  return Errc::kCorrupt;
}

ErrorCode WriteManifest(const std::string& directory, const ShardManifest& manifest,
                        Diagnostics* diagnostics) {
  Result<IndexFileWriter> file =
      IndexFileWriter::Create(PathOf(directory), kKind, kVersion, diagnostics);
  if (!file) return file.error();
  const Numbers numbers{manifest.shard, manifest.first_sequence};
  file->Add(kSchema, EncodeSchema(manifest.schema));
  file->Add(kNumbers, std::as_bytes(std::span(&numbers, 1)));
  file->Add(kRecords, std::as_bytes(std::span(manifest.records)));
  return file->Publish(diagnostics);
}

}  // namespace stout::blowfish
