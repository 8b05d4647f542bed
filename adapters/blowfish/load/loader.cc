#include "blowfish/load/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <utility>

#include "blowfish/index/bytes_hash.h"
#include "stout/adapters/no_throw.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;

constexpr std::uint64_t kSeed = 1;  // of the pauses; each connection has its own
constexpr int kLooksInPatience = 50;

}  // namespace

Loader::Loader(const asio::any_io_executor& executor, LoaderOptions options, Handlers handlers)
    : executor_(executor),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      room_(executor),
      watch_(executor) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    connections_.push_back(std::make_unique<LoadConnection>(
        executor, options_, static_cast<LoadListener&>(*this), kSeed + i));
  }
}

void Loader::Start() {
  for (const auto& connection : connections_) {
    asio::co_spawn(executor_, connection->Run(), asio::detached);
  }
  asio::co_spawn(executor_, Watch(), asio::detached);
}

LoadConnection& Loader::ConnectionOf(std::string_view key) {
  return *connections_[Xxh3(key) % connections_.size()];
}

bool Loader::TryAdd(std::string_view key, std::string_view value, std::uint64_t line) {
  LoadConnection& connection = ConnectionOf(key);
  if (connection.window().full()) return false;
  connection.Add(key, value, line);
  return true;
}

asio::awaitable<bool> Loader::Add(std::string_view key, std::string_view value,
                                  std::uint64_t line) {
  while (gave_up_.empty()) {
    if (TryAdd(key, value, line)) co_return true;
    co_await room_.Wait();
  }
  co_return false;
}

void Loader::Flush() {
  for (const auto& connection : connections_) connection->Flush();
}

asio::awaitable<bool> Loader::Finish() {
  Flush();
  while (gave_up_.empty() && !empty()) co_await room_.Wait();
  co_return gave_up_.empty();
}

void Loader::Close() {
  closed_ = true;
  watch_.cancel();
  room_.Notify();
  for (const auto& connection : connections_) connection->Close();
}

bool Loader::empty() const {
  return std::all_of(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return connection->window().empty(); });
}

std::optional<std::uint64_t> Loader::first_unfinished() const {
  std::optional<std::uint64_t> first;
  for (const auto& connection : connections_) {
    const std::optional<std::uint64_t> line = connection->window().first_line();
    if (line && (!first || *line < *first)) first = line;
  }
  return first;
}

std::uint64_t Loader::resent() const {
  std::uint64_t resent = 0;
  for (const auto& connection : connections_) resent += connection->window().resent();
  return resent;
}

asio::awaitable<void> Loader::Watch() {
  while (!closed_) {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& connection : connections_) connection->Watch(now);
    Flush();  // with few keys a command might never grow larger
    watch_.expires_after(options_.patience / kLooksInPatience);
    co_await watch_.async_wait(kNoThrow);
  }
}

void Loader::OnLoaded(std::size_t records, std::size_t bytes) {
  totals_.records += records;
  totals_.bytes += bytes;
  last_trouble_.clear();
}

void Loader::OnRefused(std::uint64_t line, std::string_view error) {
  ++totals_.refused;
  if (handlers_.refused) handlers_.refused(line, error);
}

void Loader::OnTrouble(std::string_view trouble) {
  if (trouble == last_trouble_) return;  // Another connection's, too.
  last_trouble_ = trouble;
  if (handlers_.trouble) handlers_.trouble(fmt::format("{}: {}", options_.server.Text(), trouble));
}

void Loader::OnGaveUp(std::string_view why) {
  if (!gave_up_.empty()) return;
  gave_up_ = fmt::format("{}: {}", options_.server.Text(), why);
  Close();
}

}  // namespace stout::blowfish
