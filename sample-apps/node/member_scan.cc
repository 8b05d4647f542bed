#include "node/member_scan.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "node/member_plans.h"
#include "stout/parts.h"

namespace stout::node {
namespace {

// The place of a scan: "PLAN/PART/CURSOR".
struct Place {
  std::uint64_t plan = 0;
  std::size_t part = 0;
  std::string cursor;  // of the datalet
};

std::string Encode(const Place& place) {
  return fmt::format("{}/{}/{}", place.plan, place.part, place.cursor);
}

template <typename Number>
bool TakeNumber(std::string_view& text, Number& number) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, number);
  if (error != std::errc() || end != text.data() + slash) return false;
  text.remove_prefix(slash + 1);
  return true;
}

std::optional<Place> Decode(std::string_view text) {
  Place place;
  if (!TakeNumber(text, place.plan) || !TakeNumber(text, place.part)) return std::nullopt;
  place.cursor = text;
  return place;
}

}  // namespace

MemberScan::MemberScan(Partition partition, Scope scope, Records records, StoreOf store_of,
                       Self self, QueueOf queue_of, Observe observe)
    : traits_{.name = "members",
              .compares_stamps = true,
              .fences = true,
              .durable = true,
              .scans = true},
      plans_(std::make_shared<MemberPlans>(std::move(partition), std::move(scope),
                                           std::move(records), std::move(store_of),
                                           std::move(observe))),
      self_(std::move(self)),
      queue_of_(std::move(queue_of)) {}

std::unique_ptr<MemberScan> MakeScan(const Config& config, Cluster& cluster) {
  return std::make_unique<MemberScan>(
      config.partition(), config.scope,
      [&cluster] { return cluster.server.joined() ? cluster.members->records() : nullptr; },
      [&cluster](const std::string& id) { return cluster.members->StoreOf(id); },
      [&cluster] { return cluster.self; },
      [&cluster](const std::string& id) { return &cluster.queues[id]; },
      [&cluster](Version version) { cluster.members->clock().Observe(version); });
}

MemberScan::~MemberScan() { Close(); }

void MemberScan::Close() { plans_->Close(); }

// One page on its way, from one datalet.
struct MemberScan::Page {
  std::shared_ptr<MemberPlans> plans;
  std::shared_ptr<const MemberPlan> plan;
  Place place;
  ScanHandler handler;
  Store* store = nullptr;
  std::string incarnation;  // of the store, which may be gone when it answers
  ScanResult result{};

  [[nodiscard]] const MemberPart& part() const { return (*plan)[place.part]; }
  void Fail(Errc errc) { handler({errc == Errc::kLost ? Errc::kTransient : errc, {}, {}}); }

  static void OnScanned(std::shared_ptr<Page> page, ScanResult result) {
    if (result.errc != Errc::kOk) return page->Fail(result.errc);
    page->result = std::move(result);
    MemberPlans::Prove(page->plans, page->part(), *page->store, page->incarnation,
                       [page](Errc errc) { page->OnProved(errc); });
  }

  void OnProved(Errc errc) {
    if (errc != Errc::kOk) return Fail(errc);
    plans->Keep(part(), result.keys, [](const ScannedKey& each) -> KeyView { return each.key; });
    plans->ObserveAll(result.keys);
    place.cursor = std::move(result.cursor);
    if (place.cursor.empty()) ++place.part;
    result.cursor = place.part < plan->size() ? Encode(place) : "";
    handler(std::move(result));
  }
};

std::optional<MemberPlan> MemberScan::PlanScan() const {
  const auto table = plans_->records();
  if (!table) return std::nullopt;
  const std::string self = self_ ? self_() : "";
  return plans_->Make(*table, 0, plans_->partition.ranges, [&](const std::string& id, Store&) {
    const auto found = table->datalets.find(id);
    const bool own =
        !self.empty() && found != table->datalets.end() && found->second.value.node == self;
    return std::optional<std::int64_t>(own ? 1 : 0);
  });
}

void MemberScan::Scan(const ScanRequest& request, ScanHandler handler) {
  std::optional<Place> place;
  if (!request.cursor.empty()) {
    place = Decode(request.cursor);
    if (!place) return handler({Errc::kRefused, {}, {}});
  } else if (auto plan = PlanScan()) {
    place = Place{.plan = plans_->Remember(std::move(*plan)), .part = 0, .cursor = {}};
  }
  const auto plan = place ? plans_->Find(place->plan) : nullptr;
  if (!plan) return handler({Errc::kTransient, {}, {}});
  if (place->part >= plan->size()) return handler({Errc::kRefused, {}, {}});
  Store* const store = plans_->StoreOfPart((*plan)[place->part]);
  if (store == nullptr) return handler({Errc::kTransient, {}, {}});
  ScanRequest inner = request;
  inner.cursor = place->cursor;
  auto page = std::make_shared<Page>(Page{plans_, plan, *std::move(place), std::move(handler),
                                          store, store->traits().incarnation});
  store->Scan(inner, [page = std::move(page)](ScanResult result) mutable {
    Page::OnScanned(std::move(page), std::move(result));
  });
}

// Prefers the shortest queue of this node's requests. Ties go by chance.
std::optional<MemberPlan> MemberScan::PlanSearch(const std::string& beside) {
  constexpr std::int64_t kTies = 1024;
  const auto table = plans_->records();
  if (!table) return std::nullopt;
  const Partition& partition = plans_->partition;
  const RangeId first = beside.empty() ? 0 : partition.RangeOf(beside);
  const RangeId end = beside.empty() ? partition.ranges : first + 1;
  return plans_->Make(*table, first, end, [&](const std::string& id, Store& store) {
    if (!store.traits().schema) return std::optional<std::int64_t>();
    const auto waiting = queue_of_ ? static_cast<std::int64_t>(queue_of_(id)->waiting()) : 0;
    const auto chance = static_cast<std::int64_t>(random_.Below(kTies));
    return std::optional(-waiting * kTies + chance);
  });
}

void MemberScan::Search(const SearchRequest& request, SearchHandler handler) {
  const auto plan = PlanSearch(request.beside);
  if (!plan) return handler({Errc::kTransient, {}});
  const auto parts = std::make_shared<internal::Parts<SearchResult>>(
      plan->size(), [handler = std::move(handler)](std::vector<SearchResult> parts) mutable {
        SearchResult all;
        for (SearchResult& part : parts) {
          if (part.errc != Errc::kOk) return handler({part.errc, {}});
          all.more |= part.more;
          all.keys.insert(all.keys.end(), std::move_iterator(part.keys.begin()),
                          std::move_iterator(part.keys.end()));
        }
        handler(std::move(all));
      });
  for (std::size_t i = 0; i < plan->size(); ++i) {
    SearchPart((*plan)[i], request,
               [parts, i](SearchResult result) { parts->Answer(i, std::move(result)); });
  }
}

void MemberScan::SearchPart(const MemberPart& part, const SearchRequest& request,
                            SearchHandler handler) const {
  Store* const store = plans_->StoreOfPart(part);
  if (store == nullptr) return handler({Errc::kTransient, {}});
  auto waiting = queue_of_ ? queue_of_(part.datalet)->own : nullptr;
  store->Search(request, [plans = plans_, part, store, incarnation = store->traits().incarnation,
                          waiting = std::move(waiting),
                          handler = std::move(handler)](SearchResult result) mutable {
    // A store that refuses has replaced one that could search.
    if (result.errc == Errc::kLost || result.errc == Errc::kRefused) result.errc = Errc::kTransient;
    if (result.errc != Errc::kOk) return handler({result.errc, {}});
    MemberPlans::Prove(
        plans, part, *store, std::move(incarnation),
        [plans, part, result = std::move(result), handler = std::move(handler)](Errc errc) mutable {
          if (errc != Errc::kOk) return handler({errc, {}});
          plans->Keep(part, result.keys, [](const std::string& key) -> KeyView { return key; });
          handler(std::move(result));
        });
  });
}

}  // namespace stout::node
