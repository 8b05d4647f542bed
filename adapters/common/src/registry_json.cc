#include "stout/adapters/registry_json.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <concepts>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace stout {
namespace {

namespace json = boost::json;
using std::chrono::microseconds;

std::int64_t Micros(Duration duration) {
  return std::chrono::floor<microseconds>(duration).count();
}

json::object ToJson(const ClusterConfig& config) {
  return {{"mode", NameOf(config.mode)},
          {"replicas", config.replicas},
          {"min_in", config.min_in},
          {"ack", config.ack},
          {"member_timeout_us", Micros(config.member_timeout)},
          {"partition", config.partition},
          {"ranges", config.ranges}};
}

json::object ToJson(const Datalet& datalet) {
  json::object object{{"url", datalet.url},
                      {"node", datalet.node},
                      {"capacity", datalet.capacity},
                      {"since_us", Micros(datalet.since.time_since_epoch())}};
  // Earlier versions read records without these.
  if (datalet.leaving) object["leaving"] = true;
  if (datalet.lazy) object["lazy"] = true;
  return object;
}

json::object ToJson(const RangeRecord& set) {
  json::array members;
  for (const RangeRecord::Member& member : set.members) {
    json::object each{{"datalet", member.datalet},
                      {"in", member.in},
                      {"since_us", Micros(member.since.time_since_epoch())}};
    const Stamp& entered = member.entered;
    if (entered != Stamp{}) each["entered"] = json::array{entered.epoch, entered.version};
    if (!member.incarnation.empty()) each["incarnation"] = member.incarnation;
    members.push_back(std::move(each));
  }
  json::array closed;
  for (const auto& [epoch, version] : set.closed) closed.push_back(json::array{epoch, version});
  json::object object{{"members", std::move(members)},
                      {"closed", std::move(closed)},
                      {"swept", set.swept},
                      {"strong", set.strong}};
  if (set.shared != 0) object["shared"] = set.shared;
  if (set.merged != TimePoint{}) object["merged_us"] = Micros(set.merged.time_since_epoch());
  return object;
}

json::object ToJson(const ReservedVersions& reserved) { return {{"until_us", reserved.until}}; }

json::object ToJson(const WantedOwner& wanted) { return {{"node", wanted.node}}; }

// Reads the fields of one object. The first error counts.
class Reader {
 public:
  explicit Reader(const json::value& value) : object_(value.if_object()) {
    if (object_ == nullptr) error_ = "it is not a JSON object";
  }

  template <std::unsigned_integral T>
  T Number(std::string_view name) {
    const json::value* const found = Find(name);
    T number{};
    if (found != nullptr) ReadNumber(name, *found, number);
    return number;
  }
  std::string Text(std::string_view name) {
    const json::value* const found = Find(name);
    if (found != nullptr && found->is_string()) return std::string(found->get_string());
    if (found != nullptr) Expect(name, "a text");
    return {};
  }
  bool Flag(std::string_view name) {
    const json::value* const found = Find(name);
    if (found != nullptr && found->is_bool()) return found->get_bool();
    if (found != nullptr) Expect(name, "true or false");
    return false;
  }
  Duration Time(std::string_view name) {
    const auto micros = Number<std::uint64_t>(name);
    constexpr auto kMax = static_cast<std::uint64_t>(
        std::chrono::duration_cast<microseconds>(Duration::max()).count());
    if (micros > kMax) Expect(name, "a time in microseconds");
    return microseconds(micros > kMax ? 0 : static_cast<std::int64_t>(micros));
  }
  // `parse` gives the value of a name.
  template <typename T>
  T Named(std::string_view name, std::optional<T> (*parse)(std::string_view),
          std::string_view names) {
    const std::string text = Text(name);
    const std::optional<T> value = parse(text);
    if (!value) Expect(name, names);
    return value.value_or(T{});
  }
  const json::array& Array(std::string_view name) {
    static const json::array none;
    const json::value* const found = Find(name);
    if (found != nullptr && found->is_array()) return found->get_array();
    if (found != nullptr) Expect(name, "an array");
    return none;
  }
  template <std::unsigned_integral T>
  void ReadNumber(std::string_view name, const json::value& value, T& number) {
    boost::system::error_code ec;
    number = value.to_number<T>(ec);
    if (ec || value.is_double()) {
      Expect(name, fmt::format("a whole number up to {}", std::numeric_limits<T>::max()));
    }
  }
  // Reads [epoch, version].
  std::pair<Epoch, Version> Pair(std::string_view name, const json::array* array) {
    std::pair<Epoch, Version> pair;
    if (array == nullptr || array->size() != 2) {
      Expect(name, "made of pairs [epoch, version]");
    } else {
      ReadNumber(name, (*array)[0], pair.first);
      ReadNumber(name, (*array)[1], pair.second);
    }
    return pair;
  }
  void Expect(std::string_view name, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("field '{}' is not {}", name, what);
  }
  void Inherit(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

  [[nodiscard]] bool Has(std::string_view name) const {
    return object_ != nullptr && object_->contains(name);
  }
  void Ignore(std::string_view name) {
    if (Has(name)) ++fields_;
  }

  // After all fields. Empty: the object has these fields and no other.
  [[nodiscard]] const std::string& Finish() {
    if (error_.empty() && object_->size() != fields_) {
      error_ = "it has a field that this version does not know: update this program";
    }
    return error_;
  }

 private:
  const json::value* Find(std::string_view name) {
    const json::value* const found = object_ == nullptr ? nullptr : object_->if_contains(name);
    if (found == nullptr && error_.empty()) error_ = fmt::format("field '{}' is missing", name);
    if (found != nullptr) ++fields_;
    return found;
  }

  const json::object* object_;
  std::size_t fields_ = 0;
  std::string error_;
};

ClusterConfig ReadConfig(Reader& reader) {
  ClusterConfig config;
  config.mode = reader.Named("mode", ParseReplicationMode, "ms+sc, ms+ec, aa+sc or aa+ec");
  config.replicas = reader.Number<std::uint32_t>("replicas");
  config.min_in = reader.Number<std::uint32_t>("min_in");
  config.ack = reader.Number<std::uint32_t>("ack");
  config.member_timeout = reader.Time("member_timeout_us");
  config.partition = reader.Text("partition");
  config.ranges = reader.Number<RangeId>("ranges");
  return config;
}

Datalet ReadDatalet(Reader& reader) {
  Datalet datalet;
  datalet.url = reader.Text("url");
  datalet.node = reader.Text("node");
  datalet.capacity = reader.Number<std::uint32_t>("capacity");
  datalet.since = TimePoint(reader.Time("since_us"));
  datalet.leaving = reader.Has("leaving") && reader.Flag("leaving");
  datalet.lazy = reader.Has("lazy") && reader.Flag("lazy");
  return datalet;
}

RangeRecord ReadSet(Reader& reader) {
  RangeRecord set;
  for (const json::value& value : reader.Array("members")) {
    Reader member(value);
    RangeRecord::Member read;
    read.datalet = member.Text("datalet");
    read.in = member.Flag("in");
    read.since = TimePoint(member.Time("since_us"));
    if (member.Has("entered")) {
      std::tie(read.entered.epoch, read.entered.version) =
          member.Pair("entered", &member.Array("entered"));
    }
    if (member.Has("incarnation")) read.incarnation = member.Text("incarnation");
    reader.Inherit(member.Finish());
    set.members.push_back(std::move(read));
  }
  for (const json::value& value : reader.Array("closed")) {
    if (!set.closed.insert(reader.Pair("closed", value.if_array())).second) {
      reader.Expect("closed", "a list that has each epoch once");
    }
  }
  set.swept = reader.Number<Epoch>("swept");
  set.strong = reader.Flag("strong");
  if (reader.Has("shared")) set.shared = reader.Number<Epoch>("shared");
  if (reader.Has("merged_us")) set.merged = TimePoint(reader.Time("merged_us"));
  reader.Ignore("revision");  // of earlier versions: the registry has its own
  return set;
}

// Returns nullopt for a key of another kind.
std::optional<RegistryValue> ReadValue(std::string_view key, Reader& reader) {
  if (key == "config" || key.starts_with("table/")) return ReadConfig(reader);
  if (key.starts_with("datalet/")) return ReadDatalet(reader);
  if (key.starts_with("set/")) return ReadSet(reader);
  if (key.starts_with("wanted-owner/")) return WantedOwner{reader.Text("node")};
  if (key.starts_with("clock/")) return ReservedVersions{reader.Number<std::uint64_t>("until_us")};
  return std::nullopt;
}

}  // namespace

std::string EncodeRecord(const RegistryValue& value) {
  return json::serialize(std::visit([](const auto& v) { return ToJson(v); }, value));
}

void AddRecord(std::string_view key, std::string_view shown, std::string_view text,
               Revision revision, RegistryTable* table) {
  boost::system::error_code ec;
  const json::value parsed = json::parse(text, ec);
  Reader reader(parsed);
  std::optional<RegistryValue> value = ReadValue(key, reader);
  if (!value) return;
  std::string why = ec ? "it is not JSON" : reader.Finish();
  if (text.starts_with(kSuspect)) {
    why = fmt::format(
        "the server was promoted or restored, so this may be out of date: compare it "
        "with the members, then remove '{}' from its beginning",
        kSuspect);
  }
  if (why.empty()) {
    why = internal::Place(key, *std::move(value), revision, table).value_or("");
  }
  if (why.empty()) return;
  table->damaged[std::string(key)] = {
      fmt::format("{} cannot be used: {}; correct it there, and it is taken up at once", shown,
                  why),
      revision};
}

}  // namespace stout
