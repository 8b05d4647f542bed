#include "scan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "incarnation.h"
#include "operations.h"
#include "resp/client/errors.h"
#include "stout/adapters/scan_page.h"

namespace stout::redis {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxCount = 1000;

void AppendText(std::string_view text, std::string* bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) *bytes += static_cast<char>(text.size() >> shift);
  *bytes += text;
}

// Removes a text from the front. Returns false if there is none.
bool TakeText(std::string_view* bytes, std::string* text) {
  if (bytes->size() < 4) return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>((*bytes)[i]);
  bytes->remove_prefix(4);
  if (bytes->size() < size) return false;
  *text = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return true;
}

bool IsPosition(std::string_view text) {
  return text.size() <= 20 && text.find_first_not_of("0123456789") == text.npos;
}

bool IsOfAnotherType(const Reply& reply) { return reply.code() == "WRONGTYPE"; }

}  // namespace

std::optional<ScanPlace> ScanPlace::Decode(char kind, std::string_view cursor) {
  ScanPlace place;
  if (cursor.empty()) return place;
  if (cursor.front() != kind) return std::nullopt;
  cursor.remove_prefix(1);
  for (std::string* text : {&place.server, &place.position, &place.done, &place.scanning}) {
    if (!TakeText(&cursor, text)) return std::nullopt;
  }
  while (!cursor.empty()) {
    if (!TakeText(&cursor, &place.keys.emplace_back())) return std::nullopt;
  }
  if (!IsPosition(place.position)) return std::nullopt;
  return place;
}

std::string ScanPlace::Encode(char kind) const {
  std::string cursor(1, kind);
  for (const std::string* text : {&server, &position, &done, &scanning}) {
    AppendText(*text, &cursor);
  }
  for (const std::string& key : keys) AppendText(key, &cursor);
  return cursor;
}

std::optional<std::vector<std::string>> ScanPlace::Advance(std::string process, Reply scan) {
  const bool malformed = scan.elements.size() != 2 ||
                         scan.elements[0].kind != Reply::Kind::kString ||
                         scan.elements[0].text.empty() || !IsPosition(scan.elements[0].text) ||
                         scan.elements[1].kind != Reply::Kind::kArray;
  if (malformed || process.empty()) return std::nullopt;
  std::vector<std::string> found;
  const bool elsewhere = position != "0" && process != server;
  server = std::move(process);
  if (elsewhere) {
    position = "0";
    return found;
  }
  position = std::move(scan.elements[0].text);
  if (position == "0") position.clear();
  for (Reply& key : scan.elements[1].elements) found.push_back(std::move(key.text));
  return found;
}

void AppendAskForProcess(Commands* commands) { commands->Add({"INFO", "server"}); }

std::string ProcessOf(const Reply& info) { return std::string(InfoField(info.text, "run_id")); }

Errc ErrorOf(const Reply& error) {
  return resp::RefusesUs(error) ? Errc::kRefused : Errc::kTransient;
}

std::size_t CountOf(const ScanRequest& request) { return std::min(request.limit, kMaxCount); }

asio::awaitable<ScanResult> ReadFound(const Layout& layout, const AskForEach& ask,
                                      const ScanRequest& request, ScanPlace* place) {
  ScanResult failed{Errc::kTransient, {}, {}};
  if (place->keys.empty()) co_return ScanResult();
  const auto at = [&](std::size_t keys) {
    return place->keys.begin() + static_cast<std::ptrdiff_t>(keys);
  };
  std::vector<std::string> keys(place->keys.begin(),
                                at(std::min(CountOf(request), place->keys.size())));
  std::vector<Reply> looks =
      co_await ask(request.values ? KeyQuery::kLength : KeyQuery::kStamp, keys);
  if (looks.size() != keys.size()) co_return failed;
  ScanPage page(request.limit);
  std::size_t bytes = 0;
  std::size_t taken = 0;
  for (; taken < keys.size() && (taken == 0 || bytes < ScanPage::kMaxBytes); ++taken) {
    Reply& look = looks[taken];
    if (look.error() && !IsOfAnotherType(look)) {
      failed.errc = ErrorOf(look);
      co_return failed;
    }
    StoredState state;
    bytes += ScanPage::kKeyBytes + keys[taken].size() + static_cast<std::size_t>(look.integer);
    if (taken > 0 && bytes > ScanPage::kMaxBytes) break;  // A large value gets a page of its own.
    if (!request.values && layout.DecodeStamp(std::move(look), &state)) {
      page.Add(keys[taken], std::move(state));
    }
  }
  keys.resize(taken);
  if (request.values) {
    std::vector<Reply> states = co_await ask(KeyQuery::kState, keys);
    if (states.size() != keys.size()) co_return failed;
    for (std::size_t i = 0; i < states.size(); ++i) {
      StoredState state;
      StoredState* const one = &state;
      if (!layout.DecodeRead(std::move(states[i]), {&one, 1})) co_return failed;
      // A key that is gone has no stamp, and neither has a plain one, which is found.
      const bool gone = state == StoredState();
      if (!gone) page.Add(keys[i], std::move(state));
    }
  }
  place->keys.erase(place->keys.begin(), at(taken));
  co_return page.Take({});
}

asio::awaitable<ScanResult> Scan(Connection& connection, const Layout& layout, ScanRequest request,
                                 ScanPlace place) {
  ScanResult failed{Errc::kTransient, {}, {}};
  if (place.keys.empty()) {
    Commands find;
    AppendAskForProcess(&find);
    layout.AppendScan(place.position, CountOf(request), &find);
    std::vector<Reply> replies = co_await RunOnMaster(connection, layout, find);
    if (replies.empty()) co_return failed;
    for (const Reply& reply : replies) {
      if (!reply.error()) continue;
      failed.errc = ErrorOf(reply);
      co_return failed;
    }
    const auto found = place.Advance(ProcessOf(replies[0]), std::move(replies[1]));
    if (!found) {
      connection.Distrust();
      co_return failed;
    }
    for (const std::string& redis_key : *found) {
      if (auto key = layout.KeyOf(redis_key)) place.keys.push_back(*std::move(key));
    }
  }
  const AskForEach ask =
      [&](KeyQuery query,
          const std::vector<std::string>& keys) -> asio::awaitable<std::vector<Reply>> {
    Commands commands;
    for (const std::string& key : keys) layout.AppendQuery(query, key, &commands);
    co_return co_await RunOnMaster(connection, layout, commands);
  };
  ScanResult result = co_await ReadFound(layout, ask, request, &place);
  const bool more = !place.position.empty() || !place.keys.empty();
  if (result.errc == Errc::kOk && more) result.cursor = place.Encode('r');
  co_return result;
}

}  // namespace stout::redis
