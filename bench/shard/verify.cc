#include "shard/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace stout::bench::shard {
namespace {

constexpr std::size_t kAtOnce = 16;

/// No value is like it: it has a byte that the generator knows nothing of.
std::string AbsentValue(std::string_view value) { return std::string(value) + '\x01'; }

/// Near to a key that a record has, in the last byte or, where all of those have records, longer.
std::string AbsentKey(const Oracle& oracle, std::string_view near) {
  std::string key(near);
  for (int byte = 0; byte < 256; ++byte) {
    key.back() = static_cast<char>(byte);
    if (!oracle.Find(key)) return key;
  }
  return key + '\x01';
}

std::string Hex(std::string_view key) {
  std::string text;
  for (const char byte : key) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Mismatch Compare(const ShardPeer& peer, std::string_view key, std::string_view wanted,
                 std::string_view found) {
  if (found == wanted) return std::nullopt;
  const auto [at, other] = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end());
  return fmt::format("{}: get of key {}: '{}' instead of '{}', which differs from byte {} on",
                     peer.Name(), Hex(key), found, wanted, at - wanted.begin());
}

std::string Question(const ShardPeer& peer, const Oracle& oracle, const Search& search) {
  return fmt::format("{}: search for {} '{}'", peer.Name(),
                     oracle.schema().names()[search.attribute], search.value);
}

/// Returns the first record that only one of two ascending lists has.
Mismatch Compare(const std::string& question, std::span<const RecordNumber> wanted,
                 std::span<const RecordNumber> found) {
  const auto [w, f] = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end());
  if (w == wanted.end() && f == found.end()) return std::nullopt;
  const bool lacks = w != wanted.end() && (f == found.end() || *w < *f);
  const bool twice = !lacks && f != found.begin() && *(f - 1) == *f;
  return fmt::format("{}: {} records instead of {}; record {} is {}", question, found.size(),
                     wanted.size(), lacks ? *w : *f,
                     lacks ? "missing" : (twice ? "there twice" : "too much"));
}

Mismatch CheckGetMany(ShardPeer& peer, const Oracle& oracle, std::span<const Get> gets) {
  std::vector<std::string_view> keys;
  keys.reserve(gets.size());
  for (const Get get : gets) keys.push_back(oracle.key(get.record));
  std::vector<std::string> values(gets.size());
  peer.GetMany(keys, values);
  for (std::size_t i = 0; i < gets.size(); ++i) {
    if (auto mismatch = Compare(peer, keys[i], oracle.value(gets[i].record), values[i])) {
      return mismatch;
    }
  }
  return std::nullopt;
}

Mismatch VerifyGets(ShardPeer& peer, const Oracle& oracle, const VerifyPlan& plan) {
  const std::vector<Get> gets = DrawGets(oracle, {}, plan.gets, plan.seed);
  for (const Get get : gets) {
    if (auto mismatch = CheckGet(peer, oracle, get)) return mismatch;
    const std::string absent = AbsentKey(oracle, oracle.key(get.record));
    if (auto mismatch = CheckNoGet(peer, absent)) return mismatch;
  }
  for (std::span<const Get> rest = gets; !rest.empty();) {
    const std::size_t size = std::min(kAtOnce, rest.size());
    if (auto mismatch = CheckGetMany(peer, oracle, rest.first(size))) return mismatch;
    rest = rest.subspan(size);
  }
  return std::nullopt;
}

Mismatch VerifySearches(ShardPeer& peer, const Oracle& oracle, const VerifyPlan& plan) {
  for (const SearchClass& of : SearchClasses(oracle.schema())) {
    for (const Search& search : DrawSearches(oracle, of, {}, plan.searches, plan.seed)) {
      if (auto mismatch = CheckSearch(peer, oracle, search)) return mismatch;
      const std::string absent = AbsentValue(search.value);
      if (auto mismatch = CheckSearch(peer, oracle, {search.attribute, absent})) return mismatch;
    }
  }
  return std::nullopt;
}

Mismatch VerifySubstrings(ShardPeer& peer, const Oracle& oracle, const VerifyPlan& plan) {
  const SubstringBounds bounds{.searches = plan.substrings, .bytes = 3, .most_hits = oracle.size()};
  for (const Substring& substring : DrawSubstrings(oracle, bounds, plan.seed)) {
    if (auto mismatch = CheckGrep(peer, oracle, substring.text)) return mismatch;
    if (auto mismatch = CheckGrep(peer, oracle, AbsentValue(substring.text))) return mismatch;
  }
  return std::nullopt;
}

}  // namespace

Mismatch CheckGet(ShardPeer& peer, const Oracle& oracle, Get get) {
  const std::string_view key = oracle.key(get.record);
  std::string value;
  if (!peer.Get(key, value)) {
    return fmt::format("{}: get of key {}: there is none such", peer.Name(), Hex(key));
  }
  return Compare(peer, key, oracle.value(get.record), value);
}

Mismatch CheckNoGet(ShardPeer& peer, std::string_view key) {
  std::string value;
  if (!peer.Get(key, value)) return std::nullopt;
  return fmt::format("{}: get of key {}, which no record has: '{}'", peer.Name(), Hex(key), value);
}

Mismatch CheckSearch(ShardPeer& peer, const Oracle& oracle, const Search& search) {
  const std::span<const RecordNumber> wanted = oracle.Search(search.attribute, search.value);
  std::vector<RecordNumber> found;
  peer.Search(search.attribute, search.value, found);
  std::sort(found.begin(), found.end());
  const std::string question = Question(peer, oracle, search);
  if (auto mismatch = Compare(question, wanted, found)) return mismatch;
  const std::uint64_t count = peer.Count(search.attribute, search.value);
  if (count == wanted.size()) return std::nullopt;
  return fmt::format("{}: a count of {} instead of {}", question, count, wanted.size());
}

Mismatch CheckGrep(ShardPeer& peer, const Oracle& oracle, std::string_view text) {
  std::vector<std::string> wanted;
  for (RecordNumber record = 0; record < oracle.size(); ++record) {
    if (oracle.value(record).find(text) != std::string_view::npos) {
      wanted.emplace_back(oracle.key(record));
    }
  }
  std::vector<std::string> found;
  peer.Grep(text, found);
  std::ranges::sort(found);
  std::ranges::sort(wanted);
  if (found == wanted) return std::nullopt;
  return fmt::format("{}: search for the substring '{}': {} keys instead of {}, or others",
                     peer.Name(), text, found.size(), wanted.size());
}

Mismatch Verify(ShardPeer& peer, const Oracle& oracle, const VerifyPlan& plan) {
  if (auto mismatch = VerifyGets(peer, oracle, plan)) return mismatch;
  if (peer.CanGrep()) {
    if (auto mismatch = VerifySubstrings(peer, oracle, plan)) return mismatch;
  }
  return peer.CanSearch() ? VerifySearches(peer, oracle, plan) : std::nullopt;
}

}  // namespace stout::bench::shard
