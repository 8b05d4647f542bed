#include "shared_scans.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/parse_number.h"

namespace stout {
namespace {

// A pass over all keys of the store, for one or more scans. 0: a scan that is alone.
using PassId = std::uint64_t;

// Bytes of the pages that a pass keeps for scans that are behind. A scan that is further behind
// goes on alone.
constexpr std::size_t kKeptBytes = std::size_t{32} << 20;
constexpr std::size_t kMaxPasses = 8;
// Calls of StartGathered after which a pass that is not asked is forgotten. Scans may end early.
constexpr int kIdleTicks = 100;

std::size_t BytesOf(const ScanResult& page) {
  std::size_t bytes = 0;
  for (const ScannedKey& each : page.keys) {
    bytes += sizeof(ScannedKey) + each.key.size() + each.state.value.size();
  }
  return bytes;
}

struct Scanner {
  std::shared_ptr<const KeyFilter> wanted;
  Store::ScanHandler handler;

  // Most keys of a page are of other scans, so only those that are wanted are copied.
  void Answer(const ScanResult& page) {
    if (!wanted) return handler(page);
    ScanResult selected{.errc = page.errc, .keys = {}, .cursor = page.cursor};
    for (const ScannedKey& each : page.keys) {
      if ((*wanted)(each.key)) selected.keys.push_back(each);
    }
    handler(std::move(selected));
  }
};

struct Cursor {
  PassId pass = 0;
  std::string position;  // the store's own cursor

  [[nodiscard]] std::string Encode() const {
    return position.empty() ? std::string() : std::to_string(pass) + ':' + position;
  }
  // nullopt: it is not one of ours.
  static std::optional<Cursor> Decode(std::string_view text) {
    if (text.starts_with('k')) return Cursor{0, std::string(text)};  // CursorBehind
    const std::size_t colon = text.find(':');
    if (colon == text.npos) return std::nullopt;
    const auto pass = internal::ParseNumber<PassId>(text.substr(0, colon));
    if (!pass) return std::nullopt;
    return Cursor{*pass, std::string(text.substr(colon + 1))};
  }
};

}  // namespace

class SharedScans::State : public std::enable_shared_from_this<State> {
 public:
  void Gather(const ScanRequest& request, ScanHandler handler) {
    const std::lock_guard lock(mutex_);
    gathered_[{request.limit, request.values}].push_back({request.wanted, std::move(handler)});
  }

  void StartGathered(Store& store) {
    for (auto& [kind, scans] : Tick()) {
      PassId pass = 0;
      if (scans.size() > 1) {
        const std::lock_guard lock(mutex_);
        pass = ++last_pass_;
        passes_[pass] = std::make_shared<Pass>(Pass{.scans = scans.size()});
        if (passes_.size() > kMaxPasses) passes_.erase(passes_.begin());
      }
      const auto [limit, values] = kind;
      for (Scanner& scan : scans) Answer(store, {pass, {}}, limit, values, std::move(scan));
    }
  }

  // Answers with a page that is there, or under way, or is read now.
  void Answer(Store& store, Cursor at, std::size_t limit, bool values, Scanner scan) {
    std::shared_ptr<const ScanResult> there;
    std::shared_ptr<Pass> pass;  // null: the scan is alone
    {
      const std::lock_guard lock(mutex_);
      const auto found = passes_.find(at.pass);
      if (found == passes_.end() || !found->second->Has(at.position)) {
        at.pass = 0;
      } else if (found->second->IsStuck(at.position)) {
        at.pass = 0;
      } else if (Page& page = found->second->Ask(at.position); page.awaiting) {
        return page.awaiting->push_back(std::move(scan));
      } else if (page.result) {
        there = page.result;
        if (page.left == 0) found->second->Drop(at.position);
      } else {
        page.awaiting.emplace();
        pass = found->second;
      }
    }
    if (there) return scan.Answer(*there);
    const ScanRequest request{at.position, limit, values};
    store.Scan(request, [self = shared_from_this(), pass, at = std::move(at),
                         scan = std::move(scan)](ScanResult result) mutable {
      const std::string next = result.cursor;
      result.cursor = Cursor{at.pass, next}.Encode();
      const auto page = std::make_shared<const ScanResult>(std::move(result));
      if (pass) {
        for (Scanner& other : self->OnRead(*pass, at.position, next, page)) other.Answer(*page);
      }
      scan.Answer(*page);
    });
  }

 private:
  struct Page {
    std::shared_ptr<const ScanResult> result;
    std::optional<std::vector<Scanner>> awaiting;  // the page is under way
    std::size_t left = 0;                          // scans that have not asked for it
  };

  struct Pass {
    // Also true for the page that comes next.
    [[nodiscard]] bool Has(const std::string& position) const {
      return position == next || pages.contains(position);
    }
    // All scans await the page, and one asks again: the store does not answer.
    [[nodiscard]] bool IsStuck(const std::string& position) const {
      const auto page = pages.find(position);
      return page != pages.end() && page->second.awaiting && page->second.left == 0;
    }
    Page& Ask(const std::string& position) {
      idle = 0;
      Page& page = pages.try_emplace(position, Page{.left = scans}).first->second;
      if (page.left > 0) --page.left;
      return page;
    }
    void Keep(std::map<std::string, Page>::iterator page,
              std::shared_ptr<const ScanResult> result) {
      kept.push_back(page->first);
      kept_bytes += BytesOf(*result);
      page->second.result = std::move(result);
      while (kept_bytes > kKeptBytes) Drop(std::string(kept.front()));
    }
    void Drop(const std::string& position) {
      const auto found = pages.find(position);
      kept_bytes -= BytesOf(*found->second.result);
      std::erase(kept, position);
      pages.erase(found);
    }

    std::size_t scans = 0;
    std::string next;  // the position of the page to be read next
    std::map<std::string, Page> pages;
    std::deque<std::string> kept;  // positions of pages that have a result, the oldest first
    std::size_t kept_bytes = 0;
    int idle = 0;  // calls of StartGathered since it was asked
  };
  using Kind = std::pair<std::size_t, bool>;  // limit and values of a ScanRequest

  std::map<Kind, std::vector<Scanner>> Tick() {
    const std::lock_guard lock(mutex_);
    std::erase_if(passes_, [](const auto& each) { return ++each.second->idle > kIdleTicks; });
    return std::exchange(gathered_, {});
  }

  // Returns the scans that await the page.
  std::vector<Scanner> OnRead(Pass& pass, const std::string& position, const std::string& next,
                              const std::shared_ptr<const ScanResult>& result) {
    const std::lock_guard lock(mutex_);
    const auto page = pass.pages.find(position);
    std::vector<Scanner> awaiting = *std::exchange(page->second.awaiting, std::nullopt);
    const bool read = result->errc == Errc::kOk;
    if (read) pass.next = next;
    if (read && page->second.left > 0) {
      pass.Keep(page, result);
    } else {
      pass.pages.erase(page);
    }
    return awaiting;
  }

  std::mutex mutex_;  // guards all
  std::map<Kind, std::vector<Scanner>> gathered_;
  PassId last_pass_ = 0;
  std::map<PassId, std::shared_ptr<Pass>> passes_;
};

SharedScans::SharedScans(Store& store)
    : ForwardingStore(store), state_(std::make_shared<State>()) {}
SharedScans::~SharedScans() = default;

void SharedScans::StartGathered() { state_->StartGathered(underneath()); }

void SharedScans::Scan(const ScanRequest& request, ScanHandler handler) {
  if (request.cursor.empty()) return state_->Gather(request, std::move(handler));
  auto at = Cursor::Decode(request.cursor);
  if (!at) return handler({Errc::kRefused, {}, {}});
  state_->Answer(underneath(), *std::move(at), request.limit, request.values,
                 {request.wanted, std::move(handler)});
}

}  // namespace stout
