#include "blowfish/client/answers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "resp/client/errors.h"
#include "stout/core/parse_number.h"

namespace stout::blowfish::client {
namespace {

using Kind = Reply::Kind;

bool IsText(const Reply& reply) {
  return reply.kind == Kind::kStatus || reply.kind == Kind::kString;
}

// RESP's integers end at 2^63; beyond it, numbers are text.
std::optional<std::uint64_t> NumberOf(const Reply& reply) {
  if (reply.kind == Kind::kInteger && reply.integer >= 0) {
    return static_cast<std::uint64_t>(reply.integer);
  }
  return IsText(reply) ? internal::ParseNumber<std::uint64_t>(reply.text) : std::nullopt;
}

// The outcome that a word means, or nullopt.
std::optional<Errc> OutcomeOf(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Errc>, 8> kWords = {
      {{"OK", Errc::kOk},
       {"CORRUPT", Errc::kCorrupt},
       {"FENCED", Errc::kFenced},
       {"LOST", Errc::kLost},
       {"REFUSED", Errc::kRefused},
       {"TOOLARGE", Errc::kTooLarge},
       {"TRANSIENT", Errc::kTransient},
       {"UNKNOWN", Errc::kUnknown}}};
  const auto word = std::find_if(kWords.begin(), kWords.end(),
                                 [&](const auto& known) { return known.first == text; });
  if (word == kWords.end()) return std::nullopt;
  return word->second;
}

std::optional<Errc> OutcomeOf(const Reply& reply) {
  return IsText(reply) ? OutcomeOf(reply.text) : std::nullopt;
}

// Returns the part after the queue length, or nullopt if the reply does not begin with it.
template <typename ReplyOrConst>
std::optional<std::span<ReplyOrConst>> AfterQueue(ReplyOrConst& reply) {
  if (reply.kind != Kind::kArray || reply.elements.empty() || !NumberOf(reply.elements.front())) {
    return std::nullopt;
  }
  return std::span<ReplyOrConst>(reply.elements).subspan(1);
}

// null, or [epoch, version, value or null], or an error.
std::optional<StoredState> StateOf(Reply& reply) {
  if (reply.kind == Kind::kNil) return StoredState();
  if (reply.error()) {
    const std::optional<Errc> errc = OutcomeOf(reply.code());
    if (!errc || *errc == Errc::kOk) return std::nullopt;
    return StoredState{.errc = *errc};
  }
  if (reply.kind != Kind::kArray || reply.elements.size() != 3) return std::nullopt;
  const auto epoch = NumberOf(reply.elements[0]);
  const auto version = NumberOf(reply.elements[1]);
  Reply& value = reply.elements[2];
  if (!epoch || !version || (value.kind != Kind::kString && value.kind != Kind::kNil)) {
    return std::nullopt;
  }
  return StoredState{.found = value.kind == Kind::kString,
                     .value = std::move(value.text),
                     .stamp = {*epoch, *version}};
}

}  // namespace

std::optional<ServerFacts> DecodeShards(const Reply& reply) {
  using Milliseconds = std::chrono::milliseconds;
  constexpr std::uint64_t kLongestMs = std::chrono::floor<Milliseconds>(Duration::max()).count();
  if (reply.kind != Kind::kArray || reply.elements.size() % 2 != 0) return std::nullopt;
  // Zero, where the server does not say it.
  std::uint64_t version = 0;
  std::uint64_t shards = 0;
  std::uint64_t max_items = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t max_value = 0;
  std::uint64_t durable = 1;  // As all older servers.
  std::uint64_t tombstone_ms = 3'600'000;
  std::uint64_t stamps = 0;
  const std::array<std::pair<std::string_view, std::uint64_t*>, 8> known = {
      {{"version", &version},
       {"shards", &shards},
       {"max-batch-items", &max_items},
       {"max-batch-bytes", &max_bytes},
       {"max-value", &max_value},
       {"tombstone-ms", &tombstone_ms},
       {"durable", &durable},
       {"stamps", &stamps}}};
  std::string data_id;
  for (std::size_t i = 0; i < reply.elements.size(); i += 2) {
    const Reply& value = reply.elements[i + 1];
    if (!IsText(reply.elements[i])) continue;
    if (reply.elements[i].text == "data-id" && IsText(value)) data_id = value.text;
    for (const auto& [name, place] : known) {
      if (reply.elements[i].text == name) *place = NumberOf(value).value_or(0);
    }
  }
  if (version == 0) return std::nullopt;
  if (version != kVersion) return ServerFacts{.version = version};
  if (shards == 0 || shards > kMaxShards || max_items == 0 || max_bytes == 0) return std::nullopt;
  ServerFacts facts{version, static_cast<LaneId>(shards), max_items, max_bytes};
  if (max_value != 0) facts.max_value = max_value;
  facts.data_id = std::move(data_id);
  facts.durable = durable != 0;
  facts.reads_stamps = stamps != 0;
  facts.tombstone_ttl = Milliseconds(std::min(tombstone_ms, kLongestMs));
  return facts;
}

// delimiter d attributes [name]*
std::optional<Schema> DecodeSchema(const Reply& reply) {
  if (reply.kind != Kind::kArray || reply.elements.size() != 4) return std::nullopt;
  const Reply& delimiter = reply.elements[1];
  const Reply& attributes = reply.elements[3];
  if (delimiter.kind != Kind::kString || delimiter.text.size() != 1 ||
      attributes.kind != Kind::kArray) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const Reply& name : attributes.elements) names.push_back(name.text);
  auto schema = Schema::Make(std::move(names), delimiter.text.front());
  return schema ? std::optional(*std::move(schema)) : std::nullopt;
}

std::optional<WriteResult> DecodeWrite(const Reply& reply, std::span<const std::uint32_t> items) {
  const auto told = AfterQueue(reply);
  if (!told || told->size() % 2 != 1) return std::nullopt;
  const std::optional<Errc> batch = OutcomeOf(told->front());
  if (!batch) return std::nullopt;
  WriteResult result{.batch = *batch};
  std::uint64_t least = 0;  // Indices ascend.
  for (std::size_t i = 1; i < told->size(); i += 2) {
    const std::optional<std::uint64_t> index = NumberOf((*told)[i]);
    const std::optional<Errc> errc = OutcomeOf((*told)[i + 1]);
    if (!index || *index < least || *index >= items.size()) return std::nullopt;
    if (!errc || *errc == Errc::kOk) return std::nullopt;
    result.items.push_back({items[*index], *errc});
    least = *index + 1;
  }
  return result;
}

std::optional<ReadResult> DecodeRead(Reply reply, std::size_t keys) {
  const auto told = AfterQueue(reply);
  if (!told || told->size() != keys) return std::nullopt;
  ReadResult result;
  // The server counts the keys of this read too.
  const auto queue = static_cast<std::size_t>(*NumberOf(reply.elements.front()));
  result.queue = queue - std::min(queue, keys);
  result.states.reserve(keys);
  for (Reply& one : *told) {
    std::optional<StoredState> state = StateOf(one);
    if (!state) return std::nullopt;
    result.states.push_back(*std::move(state));
  }
  return result;
}

std::optional<ScannedShard> DecodeScan(Reply reply) {
  const auto told = AfterQueue(reply);
  if (!told || told->size() != 1 || told->front().kind != Kind::kArray) return std::nullopt;
  std::vector<Reply>& page = told->front().elements;
  if (page.size() % 2 != 1) return std::nullopt;
  const auto more = NumberOf(page.front());
  ScannedShard scanned{.more = more == std::uint64_t{1}};
  // A shard with further keys gives at least one, or the scan would never end.
  if (!more || *more > 1 || (scanned.more && page.size() == 1)) return std::nullopt;
  for (std::size_t i = 1; i < page.size(); i += 2) {
    std::optional<StoredState> state = StateOf(page[i + 1]);
    if (page[i].kind != Kind::kString || !state) return std::nullopt;
    scanned.keys.push_back({std::move(page[i].text), *std::move(state)});
  }
  return scanned;
}

std::optional<SearchResult> DecodeSearch(Reply reply) {
  if (reply.kind != Kind::kArray) return std::nullopt;
  SearchResult found;
  found.keys.reserve(reply.elements.size());
  for (Reply& key : reply.elements) {
    if (key.kind != Kind::kString) return std::nullopt;
    found.keys.push_back(std::move(key.text));
  }
  return found;
}

std::optional<Epoch> DecodeNewEpoch(const Reply& reply) {
  const auto told = AfterQueue(reply);
  if (!told || told->size() != 1) return std::nullopt;
  const std::optional<Epoch> epoch = NumberOf(told->front());
  return epoch == Epoch{0} ? std::nullopt : epoch;
}

std::optional<Errc> DecodeFence(const Reply& reply) {
  const auto told = AfterQueue(reply);
  if (!told || told->size() != 1) return std::nullopt;
  return OutcomeOf(told->front());
}

Errc ErrorOf(const Reply& error) {
  // A shard that the server could not open, until it is restored: to repeat the call is no remedy.
  if (error.code() == "SHARDDOWN") return Errc::kCorrupt;
  const std::optional<Errc> errc = OutcomeOf(error.code());
  return errc && *errc != Errc::kOk ? *errc : resp::Classify(error);
}

}  // namespace stout::blowfish::client
