#include "stores/contender.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "load/app_server.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"
#include "stout/interposer.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

/// Whose documents they are: a store compares no stamps with what a plain client wrote.
constexpr std::size_t kStoutServer = 0;
constexpr std::size_t kPlainServer = 1;

/// Keeps a context running while nothing happens.
using WorkGuard = asio::executor_work_guard<asio::io_context::executor_type>;

class Plain final : public Contender {
 public:
  Plain(const std::string& url, const WriterSpec& spec, const DocumentsSpec& documents)
      : spec_(spec),
        documents_(kPlainServer, documents.count, documents.value_bytes, 1),
        writer_(OpenWriter(url, spec, context_)) {}

  [[nodiscard]] std::string Name() const override { return spec_.Name(); }
  [[nodiscard]] std::unique_ptr<Session> Begin(std::uint64_t) override {
    if (trouble_) std::rethrow_exception(trouble_);
    return std::make_unique<PlainSession>(*this);
  }

 private:
  class PlainSession final : public Session, public Target {
   public:
    explicit PlainSession(Plain& plain) : plain_(plain), work_(plain.context_.get_executor()) {
      plain_.context_.restart();
    }
    ~PlainSession() override {
      // A write failed, perhaps: what the handlers refer to is gone, and no answer may come.
      if (std::uncaught_exceptions() > uncaught_) return;
      plain_.writer_->Cancel();
      plain_.context_.restart();
      try {
        plain_.context_.poll();
        while (!plain_.writer_->Idle()) plain_.context_.run_one();
      } catch (...) {
        plain_.trouble_ = std::current_exception();
      }
    }

    asio::io_context& context() override { return plain_.context_; }
    asio::any_io_executor executor() override { return plain_.context_.get_executor(); }
    Target& target() override { return *this; }

    void Change(std::size_t document, Answer answer) override {
      ++changes_;
      plain_.writer_->Write(plain_.documents_.key(document), plain_.documents_.NextValue(),
                            std::move(answer));
    }
    [[nodiscard]] Totals Count() const override { return {changes_, changes_, changes_}; }
    void Close() override { plain_.writer_->Cancel(); }

   private:
    Plain& plain_;
    WorkGuard work_;
    const int uncaught_ = std::uncaught_exceptions();
    std::uint64_t changes_ = 0;
  };

  const WriterSpec spec_;
  std::exception_ptr trouble_;  // A write failed as a session ended: the next one says so.
  asio::io_context context_{1};
  Documents documents_;
  std::unique_ptr<Writer> writer_;
};

/// A database that is embedded can be open once: each policy has its own.
std::string UrlFor(const Policy& policy, std::string url) {
  if (url.starts_with("rocksdb:"))
    url.insert(std::min(url.find('?'), url.size()), "-" + policy.Name());
  return url;
}

class Stout final : public Contender {
 public:
  Stout(const std::string& url, Policy policy, const DocumentsSpec& documents)
      : url_(UrlFor(policy, url)), policy_(std::move(policy)), documents_(documents) {}

  [[nodiscard]] std::string Name() const override { return policy_.Name(); }
  [[nodiscard]] std::unique_ptr<Session> Begin(std::uint64_t seed) override {
    return std::make_unique<StoutSession>(*this, seed);
  }

 private:
  class StoutSession final : public Session {
   public:
    StoutSession(const Stout& stout, std::uint64_t seed)
        : store_(OpenFor(stout, context_.get_executor())),
          server_(
              context_.get_executor(), *store_, stout.policy_,
              Documents(kStoutServer, stout.documents_.count, stout.documents_.value_bytes, seed),
              seed) {
      std::exception_ptr trouble;
      asio::co_spawn(server_.get_executor(), server_.Open(), [&](std::exception_ptr thrown) {
        trouble = std::move(thrown);
        context_.stop();
      });
      context_.run();
      if (trouble) std::rethrow_exception(trouble);
      context_.restart();
    }

    asio::io_context& context() override { return context_; }
    asio::any_io_executor executor() override { return server_.get_executor(); }
    Target& target() override { return server_; }

   private:
    static std::unique_ptr<Store> OpenFor(const Stout& stout,
                                          const asio::any_io_executor& executor) {
      Diagnostics why;
      Result<std::unique_ptr<Store>> store = OpenStore(stout.url_, executor, &why);
      if (!store) throw std::runtime_error(why.message);
      const EngineOptions options{.lane = {.write_policy = stout.policy_}};
      if (const auto trouble = Interposer::Check(options, (*store)->traits())) {
        throw std::runtime_error(fmt::format("{}: {}", Redacted(stout.url_), *trouble));
      }
      return std::move(*store);
    }

    // Destroyed in reverse: the server, the store, which ends its calls, then what runs them: one
    // thread, as the plain clients have. (RocksDB has threads of its own.)
    asio::io_context context_{1};
    WorkGuard work_{context_.get_executor()};
    std::unique_ptr<Store> store_;
    AppServer server_;
  };

  const std::string url_;
  const Policy policy_;
  const DocumentsSpec documents_;
};

}  // namespace

std::unique_ptr<Contender> MakePlain(const std::string& url, const WriterSpec& spec,
                                     const DocumentsSpec& documents) {
  return std::make_unique<Plain>(url, spec, documents);
}

std::unique_ptr<Contender> MakeStout(const std::string& url, const Policy& policy,
                                     const DocumentsSpec& documents) {
  return std::make_unique<Stout>(url, policy, documents);
}

}  // namespace stout::bench
