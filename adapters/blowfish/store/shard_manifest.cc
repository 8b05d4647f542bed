#include "blowfish/store/shard_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "blowfish/file/index_file.h"
#include "blowfish/file/index_file_writer.h"
#include "blowfish/store/succinct_store_format.h"

namespace stout::blowfish {
namespace {

constexpr std::string_view kKind = "shard";
// Programs that read version 1 know at most one file of records. Those of version 2 know no text
// index.
constexpr std::uint32_t kOneFileVersion = 1;
constexpr std::uint32_t kFilesVersion = 2;
constexpr std::uint32_t kVersion = 3;

constexpr std::string_view kSchema = "schema";
constexpr std::string_view kNumbers = "numbers";  // as below
constexpr std::string_view kRecords = "records";  // names, with kBetween between them
constexpr std::string_view kBetween = "\n";
constexpr std::string_view kTextIndex = "text index";  // of no bytes, if there is one

struct Numbers {
  std::uint64_t shard;
  std::uint64_t first_sequence;
};

std::vector<std::string> SplitNames(std::string_view names) {
  std::vector<std::string> split;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(kBetween), names.size());
    split.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + kBetween.size(), names.size()));
  }
  return split;
}

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
          .text_index = file->Find(kTextIndex).has_value(),
          .shard = read.shard,
          .files = SplitNames({reinterpret_cast<const char*>(records->data()), records->size()}),
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
  const std::uint32_t version = manifest.text_index         ? kVersion
                                : manifest.files.size() > 1 ? kFilesVersion
                                                            : kOneFileVersion;
  Result<IndexFileWriter> file =
      IndexFileWriter::Create(PathOf(directory), kKind, version, diagnostics);
  if (!file) return file.error();
  const Numbers numbers{manifest.shard, manifest.first_sequence};
  file->Add(kSchema, EncodeSchema(manifest.schema));
  file->Add(kNumbers, std::as_bytes(std::span(&numbers, 1)));
  const std::string names = fmt::format("{}", fmt::join(manifest.files, kBetween));
  file->Add(kRecords, std::as_bytes(std::span(names)));
  if (manifest.text_index) file->Add(kTextIndex, {});
  return file->Publish(diagnostics);
}

}  // namespace stout::blowfish
