#include "resp/client/reply.h"

#include <algorithm>
#include <new>
#include <utility>

namespace stout::resp {
namespace {

// The place of a reply: in the array that it is an element of, or by itself. An array grows as its
// elements come, for a server may announce more than there is memory for. That moves no reply that
// the parser still points to: elements before this one are whole.
Reply* PlaceOf(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply;
  return &static_cast<Reply*>(task->parent->obj)->elements.emplace_back();
}

Reply::Kind KindOf(int type) {
  switch (type) {
    case REDIS_REPLY_STATUS:
      return Reply::Kind::kStatus;
    case REDIS_REPLY_ERROR:
      return Reply::Kind::kError;
    default:
      return Reply::Kind::kString;
  }
}

void* MakeText(const redisReadTask* task, char* text, std::size_t size) {
  Reply* reply = PlaceOf(task);
  reply->kind = KindOf(task->type);
  reply->text.assign(text, size);
  return reply;
}

void* MakeArray(const redisReadTask* task, std::size_t size) {
  Reply* reply = PlaceOf(task);
  reply->kind = Reply::Kind::kArray;
  constexpr std::size_t kBelievable = 1024;
  reply->elements.reserve(std::min(size, kBelievable));
  return reply;
}

void* MakeInteger(const redisReadTask* task, long long value) {
  Reply* reply = PlaceOf(task);
  reply->kind = Reply::Kind::kInteger;
  reply->integer = value;
  return reply;
}

void* MakeNil(const redisReadTask* task) { return PlaceOf(task); }

// Frees whole replies only, because elements belong to their array.
void FreeReply(void* reply) { delete static_cast<Reply*>(reply); }

redisReplyObjectFunctions replies_of_ours = {
    .createString = MakeText,
    .createArray = [](const redisReadTask* task, auto size) -> void* {  // int, or size_t since 1.0
      return MakeArray(task, static_cast<std::size_t>(size));
    },
    .createInteger = MakeInteger,
// hiredis knows doubles and booleans since 1.0. Without a function it gives a number in place of an
// address. Nothing of ours asks for such replies, so they are refused like other bad ones.
#ifdef REDIS_REPLY_DOUBLE
    .createDouble = [](const redisReadTask*, double, char*, std::size_t) -> void* {
      return nullptr;
    },
#endif
    .createNil = MakeNil,
#ifdef REDIS_REPLY_BOOL
    .createBool = [](const redisReadTask*, int) -> void* { return nullptr; },
#endif
    .freeObject = FreeReply,
};

}  // namespace

std::string_view Reply::code() const {
  if (!error()) return {};
  return std::string_view(text).substr(0, text.find(' '));
}

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&replies_of_ours)) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

void ReplyReader::Feed(std::string_view bytes) {
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
}

std::optional<Reply> ReplyReader::Next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK || reply == nullptr) {
    return std::nullopt;
  }
  const std::unique_ptr<Reply> whole(static_cast<Reply*>(reply));
  return std::move(*whole);
}

}  // namespace stout::resp
