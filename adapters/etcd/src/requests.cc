#include "requests.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <utility>

#include "base64.h"

namespace stout::etcd {
namespace {

namespace json = boost::json;

constexpr std::string_view kTransaction = "/v3/kv/txn";

std::string Text(std::uint64_t number) { return std::to_string(number); }

Message Make(std::string_view path, const json::object& body) {
  return {path, json::serialize(body)};
}

json::object Put(std::string_view key, std::string_view value, SessionId session) {
  json::object put{{"key", EncodeBase64(key)}, {"value", EncodeBase64(value)}};
  if (session != 0) put["lease"] = Text(session);
  return {{"request_put", std::move(put)}};
}

json::object Read(std::string_view key) {
  return {{"request_range", {{"key", EncodeBase64(key)}}}};
}

json::object Remove(std::string_view key) {
  return {{"request_delete_range", {{"key", EncodeBase64(key)}}}};
}

// `result`: how the key's create_revision, zero if there is no key, compares to `revision`.
json::object Compare(std::string_view key, std::string_view result, Revision revision) {
  return {{"key", EncodeBase64(key)},
          {"target", "CREATE"},
          {"result", result},
          {"create_revision", Text(revision)}};
}

json::object CompareModified(std::string_view key, Revision revision) {
  return {{"key", EncodeBase64(key)},
          {"target", "MOD"},
          {"result", "EQUAL"},
          {"mod_revision", Text(revision)}};
}

json::object Everything(const Keys& keys) {
  return {{"key", EncodeBase64(keys.prefix())}, {"range_end", EncodeBase64(keys.end())}};
}

// Null if there is none.
const json::value* Find(const json::value& object, std::string_view name) {
  return object.is_object() ? object.get_object().if_contains(name) : nullptr;
}

std::optional<std::string> BytesIn(const json::value& object, std::string_view name) {
  const json::value* const text = Find(object, name);
  if (text == nullptr) return "";  // the gateway leaves out empty fields
  return text->is_string() ? DecodeBase64(text->get_string()) : std::nullopt;
}

}  // namespace

Message GrantLease(std::chrono::seconds ttl) {
  return Make("/v3/lease/grant", {{"TTL", std::to_string(ttl.count())}});
}

Message KeepLeaseAlive(SessionId session) {
  return Make("/v3/lease/keepalive", {{"ID", Text(session)}});
}

Message RevokeLease(SessionId session) { return Make("/v3/lease/revoke", {{"ID", Text(session)}}); }

Message ReadAll(const Keys& keys) { return Make("/v3/kv/range", Everything(keys)); }

Message WatchAll(const Keys& keys, Revision from) {
  json::object create = Everything(keys);
  create["start_revision"] = Text(from);
  return Make("/v3/watch", {{"create_request", std::move(create)}});
}

Message CreateDeployment(const Keys& keys, const Deployment& deployment) {
  const std::string key = keys.OfDeployment();
  return Make(kTransaction, {{"compare", json::array{Compare(key, "EQUAL", 0)}},
                             {"success", json::array{Put(key, Encode(deployment), 0), Read(key)}},
                             {"failure", json::array{Read(key), Read(key)}}});
}

Message PutMember(const Keys& keys, SessionId session, std::string_view address, Revision created) {
  return Make(kTransaction,
              {{"compare", json::array{Compare(keys.OfDeployment(), "EQUAL", created)}},
               {"success", json::array{Put(keys.OfMember(session), address, session)}}});
}

Message TakeRange(const Keys& keys, RangeId range, SessionId session) {
  const std::string key = keys.OfRange(range);
  const std::string member = keys.OfMember(session);
  return Make(kTransaction,
              {{"compare", json::array{Compare(key, "EQUAL", 0), Compare(member, "GREATER", 0)}},
               {"success", json::array{Put(key, Encode(session), session)}},
               {"failure", json::array{Read(key), Read(member)}}});
}

Message FreeRange(const Keys& keys, RangeId range, SessionId session, Revision created) {
  const std::string key = keys.OfRange(range);
  const std::string member = keys.OfMember(session);
  return Make(kTransaction, {{"compare", json::array{Compare(key, "EQUAL", created)}},
                             {"success", json::array{Read(member), Remove(key)}},
                             {"failure", json::array{Read(member)}}});
}

Message ChangeRecord(const Keys& keys, const RegistryChange& change, std::string_view text,
                     Revision created) {
  const std::string key = keys.OfRecord(change.key);
  const std::string member = keys.OfMember(change.session);
  const std::string range = keys.OfRange(change.owned ? change.owned->range : 0);
  json::array compare;
  if (change.owned) compare.push_back(Compare(range, "EQUAL", created));
  if (change.session != 0) compare.push_back(Compare(member, "GREATER", 0));
  if (change.read) compare.push_back(CompareModified(key, *change.read));
  const std::string_view dropped = DroppedTable(change);
  if (!dropped.empty()) {
    const Keys table = keys.OfTable(dropped);
    json::object none = Compare(table.OfMembers(), "EQUAL", 0);  // true if the interval is empty
    none["range_end"] = EncodeBase64(table.EndOfMembers());
    compare.push_back(std::move(none));
  }
  json::array success{change.value ? Put(key, text, change.session) : Remove(key)};
  if (!dropped.empty()) {
    success.push_back(json::object{{"request_delete_range", Everything(keys.OfTable(dropped))}});
  }
  return Make(kTransaction, {{"compare", std::move(compare)},
                             {"success", std::move(success)},
                             {"failure", json::array{Read(range), Read(member), Read(key)}}});
}

internal::ChangeFacts FactsOf(const json::value& answer, const RegistryChange& change,
                              std::string_view text, Revision created) {
  if (Succeeded(answer)) return {true, true, true, change.value ? RevisionOf(answer) : 0};
  const auto range = KeyReadBy(answer, 0);
  const auto record = KeyReadBy(answer, 2);
  return {.owned = range && range->created == created,
          .alive = KeyReadBy(answer, 1).has_value(),
          .as_asked = record ? change.value && record->value == text : !change.value,
          .revision = record ? record->modified : 0};
}

Entries EntriesOf(const json::value& answer) {
  Entries entries;
  const json::value* const kvs = Find(answer, "kvs");
  if (kvs == nullptr || !kvs->is_array()) return entries;  // there is nothing yet
  for (const json::value& kv : kvs->get_array()) {
    if (auto entry = DecodeKeyValue(kv)) {
      entries[std::move(entry->key)] = {std::move(entry->value), entry->created, entry->modified};
    }
  }
  return entries;
}

std::optional<KeyValue> DecodeKeyValue(const json::value& kv) {
  std::optional<std::string> key = BytesIn(kv, "key");
  std::optional<std::string> value = BytesIn(kv, "value");
  if (!key || key->empty() || !value) return std::nullopt;
  return KeyValue{*std::move(key), *std::move(value), NumberIn(kv, "create_revision"),
                  NumberIn(kv, "mod_revision")};
}

std::uint64_t NumberIn(const json::value& object, std::string_view name) {
  const json::value* const text = Find(object, name);
  if (text == nullptr || !text->is_string()) return 0;
  const json::string& digits = text->get_string();
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

Revision RevisionOf(const json::value& answer) {
  const json::value* const header = Find(answer, "header");
  return header == nullptr ? 0 : NumberIn(*header, "revision");
}

bool Succeeded(const json::value& answer) {
  const json::value* const succeeded = Find(answer, "succeeded");
  return succeeded != nullptr && *succeeded == true;
}

std::optional<KeyValue> KeyReadBy(const json::value& answer, std::size_t i) {
  const json::value* const responses = Find(answer, "responses");
  if (responses == nullptr || !responses->is_array() || i >= responses->get_array().size()) {
    return std::nullopt;
  }
  const json::value* const range = Find(responses->get_array()[i], "response_range");
  const json::value* const kvs = range == nullptr ? nullptr : Find(*range, "kvs");
  if (kvs == nullptr || !kvs->is_array() || kvs->get_array().empty()) return std::nullopt;
  return DecodeKeyValue(kvs->get_array()[0]);
}

}  // namespace stout::etcd
