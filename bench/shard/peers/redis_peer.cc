#include "shard/peers/redis_peer.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <span>
#include <stdexcept>

namespace stout::bench::shard {
namespace {

constexpr std::size_t kPipeline = 1000;          // records on their way while it is filled
constexpr std::string_view kScanCount = "1000";  // keys of a page, about

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

/// A connection that waits for its answers.
class Connection {
 public:
  Connection(const std::string& host, int port) : context_(redisConnect(host.c_str(), port)) {
    if (!context_ || context_->err != 0) {
      throw std::runtime_error(fmt::format("redis at {}:{}: {}", host, port,
                                           context_ ? context_->errstr : "out of memory"));
    }
  }

  void Send(std::initializer_list<std::string_view> words) {
    Send(std::span(words.begin(), words.size()));
  }
  void Send(std::span<const std::string_view> words) {
    texts_.clear();
    sizes_.clear();
    for (const std::string_view word : words) {
      texts_.push_back(word.data());
      sizes_.push_back(word.size());
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts_.data(),
                               sizes_.data()) != REDIS_OK) {
      Fail();
    }
  }

  Reply Receive() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) Fail();
    Reply owned(static_cast<redisReply*>(reply));
    if (owned->type == REDIS_REPLY_ERROR)
      throw std::runtime_error(fmt::format("redis: {}", owned->str));
    return owned;
  }

  Reply Execute(std::initializer_list<std::string_view> words) {
    Send(words);
    return Receive();
  }

 private:
  [[noreturn]] void Fail() { throw std::runtime_error(fmt::format("redis: {}", context_->errstr)); }

  std::unique_ptr<redisContext, FreeContext> context_;
  std::vector<const char*> texts_;  // of Send, as the next
  std::vector<std::size_t> sizes_;
};

std::string_view TextOf(const redisReply& reply) { return {reply.str, reply.len}; }

/// A number out of INFO's lines "name:number".
std::uint64_t NumberIn(std::string_view info, std::string_view name) {
  const std::string label = fmt::format("\n{}:", name);
  const std::size_t at = info.find(label);
  std::uint64_t number = 0;
  if (at == std::string_view::npos) throw std::runtime_error("redis: INFO has no " + label);
  std::from_chars(info.data() + at + label.size(), info.data() + info.size(), number);
  return number;
}

class RedisPeer final : public ShardPeer {
 public:
  RedisPeer(const std::string& host, int port) : connection_(host, port) {
    if (connection_.Execute({"DBSIZE"})->integer != 0) {
      throw std::runtime_error(fmt::format(
          "the Redis at {}:{} has keys: give one of its own to the benchmark", host, port));
    }
    empty_bytes_ = UsedMemory();
  }

  [[nodiscard]] std::string Name() const override { return "redis"; }
  [[nodiscard]] bool CanSearch() const override { return false; }

  void Build(RecordSource& records) override {
    records.Rewind();
    std::size_t on_their_way = 0;
    const auto await_all = [&] {
      for (; on_their_way > 0; --on_their_way) (void)connection_.Receive();
    };
    while (const auto record = records.Next()) {
      connection_.Send({"SET", record->key, record->value});
      if (++on_their_way == kPipeline) await_all();
    }
    await_all();
    built_bytes_ = UsedMemory() - empty_bytes_;
  }

  bool Get(std::string_view key, std::string& value) override {
    connection_.Send({"GET", key});
    return ReceiveValue(value);
  }

  void GetMany(std::span<const std::string_view> keys, std::span<std::string> values) override {
    for (const std::string_view key : keys) connection_.Send({"GET", key});
    for (std::size_t i = 0; i < keys.size(); ++i) (void)ReceiveValue(values[i]);
  }

  void Search(std::size_t, std::string_view, std::vector<RecordNumber>&) override {
    throw std::runtime_error("redis: cannot search");
  }

  // Redis has no search: it reads all values, a page of SCAN and then MGET.
  [[nodiscard]] bool CanGrep() const override { return true; }
  void Grep(std::string_view text, std::vector<std::string>& keys) override {
    keys.clear();
    std::string cursor = "0";
    do {
      const Reply page = connection_.Execute({"SCAN", cursor, "COUNT", kScanCount});
      cursor = TextOf(*page->element[0]);
      const redisReply& found = *page->element[1];
      words_.assign(1, "MGET");
      for (std::size_t i = 0; i < found.elements; ++i) words_.push_back(TextOf(*found.element[i]));
      if (words_.size() == 1) continue;
      connection_.Send(words_);
      const Reply values = connection_.Receive();
      for (std::size_t i = 0; i < values->elements; ++i) {
        if (TextOf(*values->element[i]).find(text) != std::string_view::npos) {
          keys.emplace_back(words_[i + 1]);
        }
      }
    } while (cursor != "0");
    // SCAN may return a key twice.
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  }

  [[nodiscard]] Space Bytes() const override {
    Space space;
    space.Add("server's memory", built_bytes_);
    return space;
  }

 private:
  bool ReceiveValue(std::string& value) {
    const Reply reply = connection_.Receive();
    if (reply->type != REDIS_REPLY_STRING) return false;
    value.assign(reply->str, reply->len);
    return true;
  }

  std::uint64_t UsedMemory() {
    const Reply info = connection_.Execute({"INFO", "memory"});
    return NumberIn({info->str, static_cast<std::size_t>(info->len)}, "used_memory");
  }

  Connection connection_;
  std::vector<std::string_view> words_;  // of Grep
  std::uint64_t empty_bytes_ = 0;
  std::uint64_t built_bytes_ = 0;
};

}  // namespace

std::unique_ptr<ShardPeer> MakeRedisPeer(const std::string& host, int port) {
  return std::make_unique<RedisPeer>(host, port);
}

}  // namespace stout::bench::shard
