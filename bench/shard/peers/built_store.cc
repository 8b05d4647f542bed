#include "shard/peers/built_store.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "blowfish/store/file_search.h"
#include "blowfish/store/hidden_records.h"
#include "blowfish/store/succinct_store_writer.h"

namespace stout::bench::shard {

std::unique_ptr<blowfish::SuccinctStore> BuildStore(RecordSource& records,
                                                    const std::string& directory,
                                                    blowfish::Encoding encoding) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const std::string path = directory + "/records";
  blowfish::SuccinctStoreWriter writer(records.schema(), blowfish::kMaxValueBytes, encoding);
  records.Rewind();
  while (const auto record = records.Next()) writer.Append(*record);
  Diagnostics why;
  if (writer.Finish(path, &why)) throw std::runtime_error(why.message);
  auto store = blowfish::SuccinctStore::Open(path, blowfish::Verify::kEverything, &why);
  if (!store) throw std::runtime_error(why.message);
  return std::move(*store);
}

void GrepStore(const std::shared_ptr<blowfish::SuccinctStore>& store, std::string_view text,
               std::vector<std::string>& keys) {
  keys.clear();
  const blowfish::HiddenRecords none;
  const blowfish::SearchedFile file{store, &none};
  blowfish::FileSearch search({.kind = blowfish::LogQuery::Kind::kContains, .text = text}, file);
  while (search.Step([&](KeyView key) {
    keys.emplace_back(key);
    return true;
  })) {
  }
}

}  // namespace stout::bench::shard
