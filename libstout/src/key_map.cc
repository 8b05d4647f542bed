#include "stout/key_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stout::inline v1 {

struct KeyMap::Scanning {
  KeyScan scan;
  ScanHandler handler;
  bool first_alone = false;  // no cursor is before the first key: it is read alone
  KeyPage page{};
  ErrorCode failed{};
  std::size_t left = 1;  // reads of keys under way, and 1 until all have begun

  void Arrive(ErrorCode ec = {}) {
    if (ec) failed = ec;
    if (--left == 0) handler(failed, failed ? KeyPage() : std::move(page));
  }
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
  if (result.errc != Errc::kOk) return scanning->Arrive(result.errc);
  if (result.keys.empty() && !result.cursor.empty()) {
    return ScanFrom(std::move(scanning), std::move(result.cursor));
  }
  const KeyScan& scan = scanning->scan;
  KeyPage& page = scanning->page;
  const auto is_behind = [&](KeyView key) { return scan.end && key >= *scan.end; };
  if (!result.cursor.empty() && !is_behind(result.keys.back().key)) {
    page.next = result.keys.back().key + '\0';
  }
  if (scanning->first_alone) page.keys.push_back({.key = scan.first, .state = {}});
  std::move(result.keys.begin(), result.keys.end(), std::back_inserter(page.keys));
  std::erase_if(page.keys, [&](const ScannedKey& each) {
    return is_behind(each.key) || (scan.wanted && !scan.wanted(each.key));
  });
  for (ScannedKey& each : page.keys) {
    const bool alone = scanning->first_alone && each.key == scan.first;
    if (!alone && Renew(each) && each.state.errc == Errc::kOk) continue;
    ++scanning->left;
    Get(each.key, {.tenant = scan.tenant},
        [scanning, &state = each.state](ErrorCode ec, const Entry& entry) {
          state = entry.stored();
          scanning->Arrive(ec);
        });
  }
  scanning->Arrive();
}

}  // namespace stout::inline v1
