#include "stout/key_map.h"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

namespace stout::inline v1 {
namespace {

// There is no memory for the values of a page. The map has not changed.
ErrorCode NoMemoryForPage() {
  return boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
}

}  // namespace

struct KeyMap::Scanning {
  KeyScan scan;
  ScanHandler handler;
  bool first_alone = false;  // no cursor is before the first key: it is read alone
  // Invariant: a state without an error was durable when it was found. Later the store may refuse
  // a change, so other states are shown only in a turn in which they are in memory.
  KeyPage page{};
  std::vector<bool> got{};  // the keys of the page whose states Get has returned
  ErrorCode failed{};
  std::size_t left = 0;  // Gets under way
};

void KeyMap::Scan(KeyScan scan, ScanHandler handler) {
  KeyView before = scan.first;
  const bool has_cursor = before.empty() || before.back() == '\0';
  if (has_cursor && !before.empty()) before.remove_suffix(1);
  std::string cursor = scan.first.empty() ? "" : CursorBehind(before);
  ScanFrom(std::make_shared<Scanning>(Scanning{std::move(scan), std::move(handler), !has_cursor}),
           std::move(cursor));
}

void KeyMap::ScanFrom(std::shared_ptr<Scanning> scanning, std::string cursor) {
  const std::size_t limit = scanning->scan.limit;
  ScanStore(std::move(cursor), limit,
            [this, scanning = std::move(scanning)](ScanResult result) mutable {
              OnScanned(std::move(scanning), std::move(result));
            });
}

void KeyMap::OnScanned(std::shared_ptr<Scanning> scanning, ScanResult result) {
  if (result.errc != Errc::kOk) return scanning->handler(result.errc, {});
  if (result.keys.empty() && !result.cursor.empty()) {
    return ScanFrom(std::move(scanning), std::move(result.cursor));
  }
  const KeyScan& scan = scanning->scan;
  KeyPage& page = scanning->page;
  const auto is_behind = [&](KeyView key) { return scan.end && key >= *scan.end; };
  try {
    if (!result.cursor.empty() && !is_behind(result.keys.back().key)) {
      page.next = result.keys.back().key + '\0';
    }
    if (scanning->first_alone) {
      page.keys.push_back({.key = scan.first, .state = {.errc = Errc::kUnknown}});
    }
    std::move(result.keys.begin(), result.keys.end(), std::back_inserter(page.keys));
    std::erase_if(page.keys, [&](const ScannedKey& each) {
      return is_behind(each.key) || (scan.wanted && !scan.wanted(each.key));
    });
    for (ScannedKey& each : page.keys) {
      if (IsDirty(each.key)) each.state.errc = Errc::kUnknown;
    }
    scanning->got.resize(page.keys.size());
  } catch (const std::bad_alloc&) {
    return scanning->handler(NoMemoryForPage(), {});
  }
  Finish(std::move(scanning));
}

// Answers if all keys can be shown in this turn. Otherwise reads those that cannot.
void KeyMap::Finish(std::shared_ptr<Scanning> scanning) {
  std::vector<ScannedKey>& keys = scanning->page.keys;
  std::vector<std::size_t> missing;
  try {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (Holds(keys[i].key)) continue;
      const bool found = keys[i].state.errc == Errc::kOk && (scanning->got[i] || Renew(keys[i]));
      if (!found) missing.push_back(i);
    }
    if (missing.empty()) {
      for (ScannedKey& each : keys) (void)Renew(each);
    }
  } catch (const std::bad_alloc&) {
    return scanning->handler(NoMemoryForPage(), {});
  }
  if (missing.empty()) return scanning->handler({}, std::move(scanning->page));
  scanning->left = missing.size();
  for (const std::size_t i : missing) {
    Get(keys[i].key, {.tenant = scanning->scan.tenant},
        [this, scanning, i](ErrorCode ec, const Entry& entry) { OnGot(scanning, i, ec, entry); });
  }
}

void KeyMap::OnGot(const std::shared_ptr<Scanning>& scanning, std::size_t index, ErrorCode ec,
                   const Entry& entry) {
  if (!ec) {
    try {
      ScannedKey& key = scanning->page.keys[index];
      key.state = entry.stored();
      if (IsDirty(key.key)) key.state.errc = Errc::kUnknown;
      scanning->got[index] = true;
    } catch (const std::bad_alloc&) {
      ec = NoMemoryForPage();
    }
  }
  if (ec) scanning->failed = ec;
  if (--scanning->left > 0) return;
  if (scanning->failed) return scanning->handler(scanning->failed, {});
  Finish(scanning);
}

}  // namespace stout::inline v1
