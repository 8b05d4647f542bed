#include "node/forward.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/level_commands.h"
#include "resp/server/integer.h"

namespace stout::node {
namespace {

using Kind = resp::Reply::Kind;

void Copy(const resp::Reply& reply, resp::ReplyWriter& writer) {
  switch (reply.kind) {
    case Kind::kNil:
      return writer.Null();
    case Kind::kStatus:
      return writer.SimpleString(reply.text);
    case Kind::kError:
      return writer.Error(reply.text);
    case Kind::kInteger:
      return writer.Integer(reply.integer);
    case Kind::kString:
      return writer.BulkString(reply.text);
    case Kind::kArray:
      writer.ArrayHeader(reply.elements.size());
      for (const resp::Reply& element : reply.elements) Copy(element, writer);
  }
}

void AddExec(const Request& request, resp::Commands& commands) {
  std::size_t words = 2 + 4 * request.watched.size();
  for (const Request& queued : request.queued) {
    if (queued.on_keys()) words += 1 + queued.arguments.size();
  }
  commands.Begin(words);
  commands.Argument("STOUT.EXEC");
  commands.Argument(std::to_string(request.watched.size()));
  for (const auto& [key, state] : request.watched) {
    commands.Argument(key);
    commands.Argument(std::to_string(state.stamp.epoch));
    commands.Argument(std::to_string(state.stamp.version));
    commands.Argument(state.exists ? "1" : "0");
  }
  for (const Request& queued : request.queued) {
    if (!queued.on_keys()) continue;
    commands.Argument(std::to_string(queued.arguments.size()));
    for (const std::string_view word : queued.arguments) commands.Argument(word);
  }
}

void Malformed(Request& request) {
  request.error = "UNKNOWN the node that owns the key sent a malformed reply";
}

void TakeText(Request& request, const resp::Reply& reply, resp::Resp version, ReplyRoom& room,
              std::string& replies) {
  if (reply.error()) return Refuse<void>(request, reply.text);
  request.reply_begin = replies.size();
  resp::ReplyWriter writer(replies, version);
  Copy(reply, writer);
  // The owner has done a change, and its reply may have the only copy of a value.
  if (!room.Take(replies.size() - request.reply_begin) && request.reads_only()) {
    replies.resize(request.reply_begin);
    request.error = kRepliesTooLarge;
  }
  request.reply_end = replies.size();
}

void TakeExec(Request& request, const resp::Reply& reply, resp::Resp version, ReplyRoom& room,
              std::string& replies) {
  if (reply.kind == Kind::kNil) {
    request.aborted = true;
    return;
  }
  auto element = reply.elements.begin();
  for (Request& queued : request.queued) {
    if (!queued.on_keys()) continue;
    if (element == reply.elements.end()) return Malformed(request);
    TakeText(queued, *element++, version, room, replies);
  }
}

void TakeStates(Request& request, const resp::Reply& reply, std::string& replies) {
  const auto& numbers = reply.elements;
  if (numbers.size() != 3 * request.keys()) return Malformed(request);
  for (std::size_t i = 0; i < numbers.size(); i += 3) {
    const Stamp stamp{static_cast<Epoch>(numbers[i].integer),
                      static_cast<Version>(numbers[i + 1].integer)};
    request.states.push_back({stamp, numbers[i + 2].integer != 0});
  }
  request.reply_begin = replies.size();
  resp::ReplyWriter(replies).Ok();
  request.reply_end = replies.size();
}

void TakePage(Request& request, const resp::Reply& reply, ReplyRoom& room) {
  const std::size_t step = request.values ? 2 : 1;
  if (reply.elements.size() != 2 || reply.elements[1].elements.size() % step != 0)
    return Malformed(request);
  const resp::Reply& next = reply.elements[0];
  if (next.kind == Kind::kString) request.next = next.text;
  const auto& words = reply.elements[1].elements;
  for (std::size_t i = 0; i < words.size(); i += step) {
    const std::string& value = request.values ? words[i + 1].text : std::string();
    if (!room.Take(words[i].text.size() + value.size()))
      return Refuse<void>(request, kRepliesTooLarge);
    request.found.emplace_back(words[i].text, value);
  }
}

}  // namespace

void AddForwarded(const Request& request, resp::Commands& commands) {
  if (request.command->id == CommandId::kExec) return AddExec(request, commands);
  const bool watch = request.command->id == CommandId::kWatch;
  commands.Begin(request.arguments.size());
  commands.Argument(watch ? "STOUT.STATES" : request.arguments.front());
  for (const std::string_view word : request.arguments.subspan(1)) commands.Argument(word);
}

void AddLevels(const Levels& levels, const internal::CausalToken& seen, resp::Commands& commands) {
  const std::vector<std::string> words = LevelCommands::Spell(levels, seen);
  commands.Begin(1 + words.size());
  commands.Argument("STOUT.LEVEL");
  for (const std::string& word : words) commands.Argument(word);
}

std::optional<TimePoint> TakeSeen(const resp::Reply& levels) {
  constexpr std::string_view kBefore = "READ causal SEEN ";
  if (levels.error() || !levels.text.starts_with(kBefore)) return std::nullopt;
  const std::string_view rest = std::string_view(levels.text).substr(kBefore.size());
  return LevelCommands::ReadToken(rest.substr(0, rest.find(' ')));
}

void TakeReply(Request& request, const resp::Reply& reply, resp::Resp version, ReplyRoom& room,
               std::string& replies) {
  const bool moved = reply.code() == "MOVED";
  request.displaced = moved || (reply.error() && reply.text == kNoRoomNow);
  if (moved) {
    request.error = "TRYAGAIN not done: the range of the key has moved";
  } else if (reply.error()) {
    request.error = reply.text;
  } else if (request.command->id == CommandId::kExec) {
    TakeExec(request, reply, version, room, replies);
  } else if (request.command->id == CommandId::kWatch) {
    TakeStates(request, reply, replies);
  } else if (request.command->id == CommandId::kStoutPage) {
    TakePage(request, reply, room);
  } else if (request.command->id == CommandId::kMget && reply.elements.size() != request.keys()) {
    Malformed(request);
  } else {
    TakeText(request, reply, version, room, replies);
  }
}

bool ReadForwardedExec(Request& request) {
  resp::Arguments words = request.arguments.subspan(1);
  // Returns the next word as a number that is at most `most`.
  const auto number = [&words](std::uint64_t most) -> std::optional<std::uint64_t> {
    if (words.empty()) return std::nullopt;
    const auto read = resp::ParseUnsigned(words.front());
    words = words.subspan(1);
    return read && *read <= most ? read : std::nullopt;
  };
  constexpr std::uint64_t kAny = UINT64_MAX;
  const auto watched = number(words.size() / 4);
  if (!watched) return false;
  for (std::uint64_t i = 0; i < *watched; ++i) {
    if (words.empty()) return false;
    const std::string_view key = words.front();
    words = words.subspan(1);
    const auto epoch = number(kAny);
    const auto version = number(kAny);
    const auto exists = number(1);
    if (!epoch || !version || !exists) return false;
    request.watched.emplace(key, KeyState{{*epoch, *version}, *exists == 1});
  }
  while (!words.empty()) {
    const auto size = number(words.size() - 1);
    if (!size || *size == 0) return false;
    request.queued.emplace_back().arguments = words.first(static_cast<std::size_t>(*size));
    words = words.subspan(static_cast<std::size_t>(*size));
  }
  return true;
}

}  // namespace stout::node
