#include "docstore_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <stdexcept>
#include <utility>

namespace stout::docstore {

void GateStore::Shut(std::string key) {
  const std::lock_guard lock(mutex_);
  shut_ = true;
  key_ = std::move(key);
}

void GateStore::Open() {
  std::deque<std::pair<const WriteBatch*, WriteHandler>> held;
  {
    const std::lock_guard lock(mutex_);
    shut_ = false;
    held.swap(held_);
  }
  for (auto& [batch, handler] : held) ForwardingStore::Write(*batch, std::move(handler));
}

std::size_t GateStore::held() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

void GateStore::Write(const WriteBatch& batch, WriteHandler handler) {
  {
    const std::lock_guard lock(mutex_);
    const auto is_held = [this](const WriteItem& item) { return key_.empty() || item.key == key_; };
    if (shut_ && std::any_of(batch.items.begin(), batch.items.end(), is_held)) {
      held_.emplace_back(&batch, std::move(handler));
      return;
    }
  }
  ForwardingStore::Write(batch, std::move(handler));
}

TestServer::TestServer(Runner& runner, Store& store, const DocumentsOptions& documents,
                       const http::HttpOptions& http)
    : runner_(runner),
      server_(std::make_unique<Server>(runner_.context(), store, documents, http)) {
  std::promise<ErrorCode> opened;
  server_->Open([&](ErrorCode ec) { opened.set_value(ec); });
  if (const ErrorCode ec = opened.get_future().get()) throw std::runtime_error(ec.message());
  port_ = server_->Listen("127.0.0.1", 0).value();
}

TestServer::~TestServer() {
  std::promise<void> closed;
  server_->Close([&](ErrorCode) { closed.set_value(); });
  closed.get_future().get();
  runner_.Stop();
}

ErrorCode TestServer::Drain() {
  std::promise<ErrorCode> drained;
  server_->Drain([&](ErrorCode ec) { drained.set_value(ec); });
  return drained.get_future().get();
}

void AwaitReplies(const TestServer& server, int count) {
  Client client(server.port());
  const std::string held = fmt::format("\"stout_replies_held\":{},", count);
  while (client.Do("GET", "/stats").body.find(held) == std::string::npos) {
  }
}

DocumentsOptions TestServer::TwoShards() {
  DocumentsOptions options;
  options.shards = 2;
  return options;
}

}  // namespace stout::docstore
