#include "blowfish/client/requests.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>

namespace stout::blowfish::client {
namespace {

// A number as an argument, without an allocation.
class Digits {
 public:
  explicit Digits(std::uint64_t number) : digits_(number) {}
  [[nodiscard]] std::string_view text() const { return {digits_.data(), digits_.size()}; }

 private:
  fmt::format_int digits_;
};

}  // namespace

Commands AskForShards() {
  Commands commands;
  commands.Add({"STOUT.SHARDS"});
  return commands;
}

Commands EncodeWrite(const WriteBatch& batch, std::span<const std::uint32_t> items, LaneId shard) {
  constexpr std::size_t kBefore = 4;  // The name, shard, scope, epoch.
  std::size_t arguments = kBefore;
  for (const std::uint32_t i : items) {
    arguments += batch.items[i].kind == WriteKind::kPut ? 4 : 3;
  }
  Commands commands;
  commands.Begin(arguments);
  commands.Argument("STOUT.WRITE");
  commands.Argument(Digits(shard).text());
  commands.Argument(batch.scope);
  commands.Argument(Digits(batch.epoch).text());
  for (const std::uint32_t i : items) {
    const WriteItem& item = batch.items[i];
    const bool put = item.kind == WriteKind::kPut;
    commands.Argument(put ? "PUT" : "DEL");
    commands.Argument(item.key);
    commands.Argument(Digits(item.version).text());
    if (put) commands.Argument(item.value);
  }
  return commands;
}

Commands EncodeRead(std::span<const std::string> keys, std::span<const std::uint32_t> items,
                    LaneId shard, std::string_view tenant, bool values) {
  Commands commands;
  if (!tenant.empty()) commands.Add({"STOUT.TAG", tenant});
  commands.Begin(2 + items.size());
  commands.Argument(values ? "STOUT.READ" : "STOUT.STAMPS");
  commands.Argument(Digits(shard).text());
  for (const std::uint32_t i : items) commands.Argument(keys[i]);
  return commands;
}

std::optional<ScanPlace> ScanPlace::Decode(std::string_view cursor, LaneId shards) {
  ScanPlace place;
  if (cursor.empty()) return place;
  if (shards == 1 && cursor.front() == 'k' && cursor.size() > 1 && cursor.back() == '\0') {
    place.after = cursor.substr(1, cursor.size() - 2);  // of CursorBehind
    return place;
  }
  if (cursor.front() != 'b') return std::nullopt;
  const char* const end = cursor.data() + cursor.size();
  const auto [last, ec] = std::from_chars(cursor.data() + 1, end, place.shard);
  if (ec != std::errc() || last == end || place.shard >= shards) return std::nullopt;
  // ':' at the first key of the shard; '/' and a key behind that key.
  if (*last == '/') place.after.emplace(last + 1, end);
  return *last == '/' || cursor.ends_with(':') ? std::optional(place) : std::nullopt;
}

std::string ScanPlace::Encode() const {
  return fmt::format("b{}{}", shard, after ? '/' + *after : ":");
}

Commands EncodeScan(const ScanRequest& request, const ScanPlace& place) {
  Commands commands;
  commands.Begin(place.after ? 6 : 4);
  commands.Argument("STOUT.SCAN");
  commands.Argument(Digits(place.shard).text());
  commands.Argument(Digits(request.limit).text());
  commands.Argument(request.values ? "VALUES" : "STAMPS");
  if (place.after) {
    commands.Argument("AFTER");
    commands.Argument(*place.after);
  }
  return commands;
}

Commands AskForSchema() {
  Commands commands;
  commands.Add({"SCHEMA"});
  return commands;
}

Commands EncodeSearch(const SearchRequest& request) {
  const Digits limit(request.limit);
  Commands commands;
  switch (request.match) {
    case SearchRequest::Match::kContains:
      commands.Add({"GREP", request.text, "LIMIT", limit.text()});
      break;
    case SearchRequest::Match::kEquals:
      commands.Add({"SEARCH", request.attribute, request.text, "LIMIT", limit.text()});
      break;
    case SearchRequest::Match::kBegins:
      commands.Add({"SEARCH", request.attribute, request.text, "PREFIX", "LIMIT", limit.text()});
      break;
  }
  return commands;
}

Commands EncodeNewEpoch() {
  Commands commands;
  commands.Add({"STOUT.EPOCH"});
  return commands;
}

Commands EncodeFence(const Scope& scope, Epoch epoch) {
  Commands commands;
  commands.Add({"STOUT.FENCE", scope, Digits(epoch).text()});
  return commands;
}

}  // namespace stout::blowfish::client
