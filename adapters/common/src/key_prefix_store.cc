#include "stout/adapters/key_prefix_store.h"

#include <vector>

#include "stout/adapters/scan_page.h"

namespace stout {

void KeyPrefixStore::Write(const WriteBatch& batch, WriteHandler handler) {
  WriteBatch outer = batch;
  for (WriteItem& item : outer.items) item.key = Outer(item.key);
  outer.bytes += prefix_.size() * outer.items.size();
  store_->WriteOwned(std::move(outer), std::move(handler));
}

void KeyPrefixStore::Read(const ReadBatch& batch, ReadHandler handler) {
  ReadBatch outer = batch;
  for (std::string& key : outer.keys) key = Outer(key);
  store_->ReadOwned(std::move(outer), std::move(handler));
}

// Its own cursors are "p" and one of the store. "k" begins one of CursorBehind.
void KeyPrefixStore::Scan(const ScanRequest& request, ScanHandler handler) {
  ScanRequest outer = request;
  outer.wanted = nullptr;  // it knows keys without the prefix
  const bool ordered = traits().ordered;
  if (outer.cursor.starts_with('p')) {
    outer.cursor.erase(0, 1);
  } else if (outer.cursor.starts_with('k') && ordered) {
    outer.cursor.insert(1, prefix_);
  } else if (!outer.cursor.empty()) {
    return handler({Errc::kRefused, {}, {}});
  } else if (ordered) {  // before the first key, which is the prefix itself
    outer.cursor = CursorBehind(KeyView(prefix_).substr(0, prefix_.size() - 1));
  }
  store_->Scan(
      outer, [ordered, prefix = prefix_, handler = std::move(handler)](ScanResult result) mutable {
        const bool beyond = ordered && !result.keys.empty() && result.keys.back().key > prefix &&
                            !result.keys.back().key.starts_with(prefix);
        if (beyond) result.cursor.clear();
        if (!result.cursor.empty()) result.cursor.insert(0, 1, 'p');
        std::erase_if(result.keys, [&](const auto& each) { return !each.key.starts_with(prefix); });
        for (ScannedKey& each : result.keys) each.key.erase(0, prefix.size());
        handler(std::move(result));
      });
}

void KeyPrefixStore::Search(const SearchRequest& request, SearchHandler handler) {
  SearchRequest outer = request;
  if (!outer.beside.empty()) outer.beside = Outer(outer.beside);
  store_->Search(
      outer, [prefix = prefix_, handler = std::move(handler)](SearchResult result) mutable {
        std::erase_if(result.keys, [&](const auto& key) { return !key.starts_with(prefix); });
        for (std::string& key : result.keys) key.erase(0, prefix.size());
        handler(std::move(result));
      });
}

}  // namespace stout
