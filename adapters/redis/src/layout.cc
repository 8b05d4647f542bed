#include "layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "scripts.h"

namespace stout::redis {
namespace {

// A script's codes for an item that it did not write.
constexpr std::int64_t kToldFenced = 1;
constexpr std::int64_t kToldNoState = 2;

// The answers of the script `fence`.
constexpr std::int64_t kFenceIsNewer = 0;
constexpr std::int64_t kFenceSet = 1;
constexpr std::int64_t kFenceThere = 2;

// The header of a state: "s", its kind, epoch and version.
using Header = std::array<char, Layout::kHeader>;
using Bytes8 = std::array<char, 8>;

void Encode8(std::uint64_t number, char* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
}

Bytes8 Encode8(std::uint64_t number) {
  Bytes8 bytes;
  Encode8(number, bytes.data());
  return bytes;
}

Header EncodeHeader(WriteKind kind, Stamp stamp) {
  Header header = {'s', kind == WriteKind::kPut ? 'p' : 'd'};
  Encode8(stamp.epoch, &header[2]);
  Encode8(stamp.version, &header[10]);
  return header;
}

template <std::size_t N>
std::string_view View(const std::array<char, N>& bytes) {
  return {bytes.data(), N};
}

std::uint64_t Decode8(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

const Reply* FirstError(std::span<const Reply> replies) {
  for (const Reply& reply : replies) {
    if (reply.error()) return &reply;
    if (const Reply* inner = FirstError(reply.elements)) return inner;
  }
  return nullptr;
}

bool IsStatus(const Reply& reply, std::string_view text) {
  return reply.kind == Reply::Kind::kStatus && reply.text == text;
}

// The answer of the script `write`: pairs of the place of a state, ascending from 1, and the reason
// for which it was not written. If the batch has a fence, the answer may be the pair 0, 1.
std::optional<WriteResult> DecodeScript(const Reply& reply, std::span<const std::uint32_t> items,
                                        bool fenced) {
  const std::vector<Reply>& told = reply.elements;
  const bool integers = std::all_of(
      told.begin(), told.end(), [](const Reply& one) { return one.kind == Reply::Kind::kInteger; });
  if (reply.kind != Reply::Kind::kArray || told.size() % 2 != 0 || !integers) return std::nullopt;
  if (fenced && told.size() == 2 && told[0].integer == 0 && told[1].integer == kToldFenced) {
    return WriteResult{Errc::kFenced, {}};
  }
  WriteResult result;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < told.size(); i += 2) {
    const std::int64_t place = told[i].integer;
    const std::int64_t why = told[i + 1].integer;
    if (place <= last || place > static_cast<std::int64_t>(items.size())) return std::nullopt;
    if (why != kToldFenced && why != kToldNoState) return std::nullopt;
    const Errc errc = why == kToldFenced ? Errc::kFenced : Errc::kRefused;
    result.items.push_back({items[static_cast<std::size_t>(place - 1)], errc});
    last = place;
  }
  return result;
}

// MSET, the script `delete`, or MULTI with MSET and DEL.
bool IsAnswerToPlain(std::span<const Reply> replies) {
  const auto is_count = [](const Reply& reply) {
    return reply.kind == Reply::Kind::kInteger && reply.integer >= 0;
  };
  if (replies.size() == 1) return IsStatus(replies[0], "OK") || is_count(replies[0]);
  return replies.size() == 4 && IsStatus(replies[0], "OK") && IsStatus(replies[1], "QUEUED") &&
         IsStatus(replies[2], "QUEUED") && replies[3].kind == Reply::Kind::kArray &&
         replies[3].elements.size() == 2 && IsStatus(replies[3].elements[0], "OK") &&
         is_count(replies[3].elements[1]);
}

void DecodeVersioned(std::string&& stored, StoredState* state) {
  const bool ours = stored.size() >= Layout::kHeader && stored[0] == 's';
  if (!ours || (stored[1] != 'p' && stored[1] != 'd')) {
    state->errc = Errc::kCorrupt;
    return;
  }
  const std::string_view view = stored;
  state->found = stored[1] == 'p';
  state->stamp = {Decode8(view.substr(2, 8)), Decode8(view.substr(10, 8))};
  stored.erase(0, Layout::kHeader);
  state->value = std::move(stored);
}

}  // namespace

Layout::Layout(const RedisOptions& options)
    : mode_(options.mode),
      prefix_(options.prefix),
      tombstone_ttl_ms_(fmt::format(
          "{}", std::chrono::ceil<std::chrono::milliseconds>(options.tombstone_ttl).count())) {}

std::string Layout::FenceKey(std::string_view scope) const {
  return fmt::format("{}stout:fence:{}", prefix_, scope);
}

void Layout::AppendWrite(const WriteBatch& batch, std::span<const std::uint32_t> items,
                         std::string_view fence, Commands* commands) const {
  if (mode_ == RedisMode::kVersioned) {
    AppendVersioned(batch, items, fence, commands);
  } else {
    AppendPlain(batch, items, commands);
  }
}

void Layout::AppendVersioned(const WriteBatch& batch, std::span<const std::uint32_t> items,
                             std::string_view fence, Commands* commands) const {
  const std::size_t fences = fence.empty() ? 0 : 1;
  const Bytes8 epoch = Encode8(batch.epoch);
  commands->Begin(6 + fences + 2 * items.size());
  commands->Argument("EVALSHA");
  commands->Argument(kWrite.sha1);
  commands->Argument(std::to_string(fences + items.size()));
  if (fences == 1) commands->Argument(fence);
  for (const std::uint32_t i : items) commands->Argument(prefix_, batch.items[i].key);
  commands->Argument(View(epoch));
  commands->Argument(tombstone_ttl_ms_);
  commands->Argument(fences == 1 ? "1" : "0");
  for (const std::uint32_t i : items) {
    const WriteItem& item = batch.items[i];
    const Header header = EncodeHeader(item.kind, {batch.epoch, item.version});
    commands->Argument(View(header), item.value);
  }
}

// MULTI only where there are two commands to keep together. Deletes alone are a script, so that
// WAIT waits for them even if none of the keys is there. Next to an MSET it does.
void Layout::AppendPlain(const WriteBatch& batch, std::span<const std::uint32_t> items,
                         Commands* commands) const {
  const auto puts =
      static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [&](std::uint32_t i) {
        return batch.items[i].kind == WriteKind::kPut;
      }));
  const std::size_t deletes = items.size() - puts;
  const bool both = puts > 0 && deletes > 0;
  if (both) commands->Add({"MULTI"});
  if (puts > 0) {
    commands->Begin(1 + 2 * puts);
    commands->Argument("MSET");
    for (const std::uint32_t i : items) {
      if (batch.items[i].kind != WriteKind::kPut) continue;
      commands->Argument(prefix_, batch.items[i].key);
      commands->Argument(batch.items[i].value);
    }
  }
  if (deletes > 0) {
    commands->Begin(both ? 1 + deletes : 3 + deletes);
    commands->Argument(both ? "DEL" : "EVALSHA");
    if (!both) commands->Argument(kDelete.sha1);
    if (!both) commands->Argument(std::to_string(deletes));
    for (const std::uint32_t i : items) {
      if (batch.items[i].kind == WriteKind::kDelete)
        commands->Argument(prefix_, batch.items[i].key);
    }
  }
  if (both) commands->Add({"EXEC"});
}

std::optional<WriteResult> Layout::DecodeWrite(std::span<const Reply> replies,
                                               std::span<const std::uint32_t> items,
                                               bool fenced) const {
  if (mode_ == RedisMode::kVersioned) {
    if (replies.size() != 1) return std::nullopt;
    if (replies[0].error()) return WriteResult{Classify(replies[0]), {}};
    return DecodeScript(replies[0], items, fenced);
  }
  if (items.empty()) return replies.empty() ? std::optional(WriteResult()) : std::nullopt;
  if (const Reply* error = FirstError(replies)) return WriteResult{Classify(*error), {}};
  return IsAnswerToPlain(replies) ? std::optional(WriteResult()) : std::nullopt;
}

// A key that is not there is deleted, which is not replicated, nor kept in the AOF.
void Layout::AppendMasterOnly(Commands* commands) const {
  commands->Add({"DEL", prefix_ + std::string(kNothing)});
}

void Layout::AppendRead(std::span<const std::string* const> keys, Commands* commands) const {
  commands->Begin(1 + keys.size());
  commands->Argument("MGET");
  for (const std::string* key : keys) commands->Argument(prefix_, *key);
}

bool Layout::IsAnswerToRead(const Reply& reply, std::size_t keys) {
  const auto is_state = [](const Reply& stored) {
    return stored.kind == Reply::Kind::kNil || stored.kind == Reply::Kind::kString;
  };
  return reply.kind == Reply::Kind::kArray && reply.elements.size() == keys &&
         std::all_of(reply.elements.begin(), reply.elements.end(), is_state);
}

bool Layout::DecodeRead(Reply reply, std::span<StoredState* const> states) const {
  if (!IsAnswerToRead(reply, states.size())) return false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    Reply& stored = reply.elements[i];
    if (stored.kind == Reply::Kind::kNil) continue;
    if (mode_ == RedisMode::kVersioned) {
      DecodeVersioned(std::move(stored.text), states[i]);
    } else {
      states[i]->found = true;
      states[i]->value = std::move(stored.text);
    }
  }
  return true;
}

void Layout::AppendScan(std::string_view position, std::size_t count, Commands* commands) const {
  std::string pattern;
  for (const char c : prefix_) {
    if (std::string_view("*?[]^\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  pattern += '*';
  commands->Add({"SCAN", position, "MATCH", pattern, "COUNT", std::to_string(count)});
}

std::optional<std::string> Layout::KeyOf(std::string_view redis_key) const {
  const bool own = redis_key == EpochKey() || redis_key.starts_with(FenceKey({}));
  if (own || !redis_key.starts_with(prefix_)) return std::nullopt;
  return std::string(redis_key.substr(prefix_.size()));
}

void Layout::AppendQuery(KeyQuery query, const std::string& key, Commands* commands) const {
  const std::string redis_key = prefix_ + key;
  if (query == KeyQuery::kState) {
    commands->Add({"MGET", redis_key});
  } else if (query == KeyQuery::kLength) {
    commands->Add({"STRLEN", redis_key});
  } else if (mode_ == RedisMode::kVersioned) {
    commands->Add({"GETRANGE", redis_key, "0", std::to_string(kHeader - 1)});
  } else {
    commands->Add({"TYPE", redis_key});
  }
}

bool Layout::DecodeStamp(Reply reply, StoredState* state) const {
  if (mode_ == RedisMode::kPlain) {
    state->found = IsStatus(reply, "string");
    return state->found;
  }
  if (reply.kind != Reply::Kind::kString || reply.text.empty()) return false;
  DecodeVersioned(std::move(reply.text), state);
  return true;
}

void Layout::AppendNoteEpoch(Epoch epoch, Commands* commands) const {
  commands->Add({"EVALSHA", kNoteEpoch.sha1, "1", EpochKey(), std::to_string(epoch)});
}

void Layout::AppendNewEpoch(Commands* commands) const { commands->Add({"INCR", EpochKey()}); }

void Layout::AppendFence(std::string_view fence, Epoch epoch, Commands* commands) const {
  const Bytes8 bytes = Encode8(epoch);
  commands->Add({"EVALSHA", kFence.sha1, "1", fence, View(bytes)});
}

void Layout::AppendFenceAndNote(std::string_view fence, Epoch epoch, std::string_view note,
                                std::string_view text, Commands* commands) const {
  const Bytes8 bytes = Encode8(epoch);
  commands->Add({"EVALSHA", kFence.sha1, "2", fence, note, View(bytes), text});
}

bool Layout::DecodeNoteEpoch(const Reply& reply) { return IsStatus(reply, "OK"); }

std::optional<Epoch> Layout::DecodeNewEpoch(const Reply& reply) {
  if (reply.kind != Reply::Kind::kInteger || reply.integer < 1) return std::nullopt;
  return static_cast<Epoch>(reply.integer);
}

std::optional<Errc> Layout::DecodeFence(const Reply& reply) {
  if (reply.kind != Reply::Kind::kInteger) return std::nullopt;
  if (reply.integer == kFenceSet || reply.integer == kFenceThere) return Errc::kOk;
  return reply.integer == kFenceIsNewer ? std::optional(Errc::kFenced) : std::nullopt;
}

bool Layout::HadFence(const Reply& reply) {
  return reply.kind == Reply::Kind::kInteger && reply.integer == kFenceThere;
}

}  // namespace stout::redis
