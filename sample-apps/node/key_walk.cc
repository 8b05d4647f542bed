#include "node/key_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "node/commands.h"
#include "resp/server/ascii.h"
#include "resp/server/command_options.h"
#include "resp/server/glob.h"

namespace stout::node {
namespace {

/// Maximum keys in one page.
constexpr std::size_t kPage = 1000;

}  // namespace

bool KeyWalk::Runs(const Request& request) {
  const auto id = request.command->id;
  return id == CommandId::kScan || id == CommandId::kDbsize || id == CommandId::kFlushall ||
         id == CommandId::kFlushdb;
}

void KeyWalk::Run(Request& request, std::string& out, resp::Resp version,
                  UniqueFunction<void()> done) {
  request_ = &request;
  out_ = &out;
  version_ = version;
  done_ = std::move(done);
  count_ = 0;
  scan_ = {.cursor = {}, .limit = kPage, .values = false};
  if (!store_.traits().scans) return Fail(Errc::kRefused);
  if (request.command->id == CommandId::kScan) {
    const auto options = resp::ParseScanOptions(request.arguments);
    const auto* const place = options->cursor == 0 ? nullptr : cursors_.Find(options->cursor);
    if (options->cursor != 0 && place == nullptr) {
      request.error = "ERR the cursor is not known any more: begin again with 0";
      return Finish();
    }
    // The table has room for a shard and a key. A store's cursor takes the place of the key.
    if (place != nullptr) scan_.cursor = *place->after;
    scan_.limit = std::min<std::size_t>(static_cast<std::size_t>(options->count), kPage);
  }
  Flush(&KeyWalk::ReadPage);
}

void KeyWalk::Flush(void (KeyWalk::*next)()) {
  map_.interposer().Flush([this, next](ErrorCode ec) {
    // A key that the store refuses is not durable, and so it is not listed.
    if (!ec || ec == Errc::kRefused || ec == Errc::kTooLarge) return (this->*next)();
    request_->error = fmt::format("ERR not known to be durable: {}", ec.message());
    Finish();
  });
}

void KeyWalk::ReadPage() {
  store_.Scan(scan_, [this, executor = map_.get_executor()](ScanResult page) {
    boost::asio::post(executor,
                      [this, page = std::move(page)]() mutable { OnPage(std::move(page)); });
  });
}

void KeyWalk::OnPage(ScanResult page) {
  if (page.errc != Errc::kOk) return Fail(page.errc);
  const auto is_gone = [](const ScannedKey& key) { return !key.state.found; };
  std::erase_if(page.keys, is_gone);
  switch (request_->command->id) {
    case CommandId::kScan:
      return ReplyToScan(page);
    case CommandId::kDbsize:
      count_ += static_cast<std::int64_t>(page.keys.size());
      break;
    default:
      Remove(page);
      if (!request_->error.empty()) return Finish();
  }
  if (std::exchange(again_, false)) return Flush(&KeyWalk::ReadPage);
  scan_.cursor = std::move(page.cursor);
  const bool flushes = request_->command->id != CommandId::kDbsize;
  if (!scan_.cursor.empty()) return flushes ? Flush(&KeyWalk::ReadPage) : ReadPage();
  if (flushes) return Flush(&KeyWalk::ReplyOk);
  resp::ReplyWriter(*out_, version_).Integer(count_);
  Finish();
}

void KeyWalk::ReplyToScan(const ScanResult& page) {
  const auto options = *resp::ParseScanOptions(request_->arguments);
  const bool typed = !options.type || resp::EqualIgnoringCase(*options.type, "string");
  std::vector<std::string_view> keys;
  for (const ScannedKey& key : page.keys) {
    if (typed && (!options.match || resp::GlobMatch(*options.match, key.key)))
      keys.push_back(key.key);
  }
  const std::uint64_t next = page.cursor.empty() ? 0 : cursors_.Keep({0, page.cursor});
  resp::ReplyWriter reply(*out_, version_);
  reply.ArrayHeader(2);
  reply.BulkString(std::to_string(next));
  reply.ArrayHeader(keys.size());
  for (const std::string_view key : keys) reply.BulkString(key);
  Finish();
}

void KeyWalk::Remove(const ScanResult& page) {
  for (const ScannedKey& key : page.keys) {
    const auto deleted = map_.Delete(key.key);
    if (deleted) continue;
    if (deleted.error() == Errc::kPushedBack && &key != page.keys.data()) {
      again_ = true;  // once these are durable
      return;
    }
    request_->error = fmt::format("ERR not all done: {}", deleted.error().message());
    return;
  }
}

void KeyWalk::ReplyOk() {
  resp::ReplyWriter(*out_, version_).Ok();
  Finish();
}

void KeyWalk::Fail(Errc why) {
  if (why == Errc::kRefused) {
    request_->error = "ERR this store cannot list its keys as it is opened";
  } else if (why == Errc::kTransient) {
    request_->error = "TRYAGAIN the store cannot list its keys at present: repeat the command";
  } else {
    request_->error =
        fmt::format("ERR the store cannot list its keys: {}", ErrorCode(why).message());
  }
  Finish();
}

// Posted, because Run may still be on the stack.
void KeyWalk::Finish() { boost::asio::post(map_.get_executor(), std::exchange(done_, {})); }

}  // namespace stout::node
