#include "stores/postgres_writer.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "stores/writer_pool.h"
#include "stout/adapters/store_url.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

/// Statements in flight on a pipelined connection. More do not help, because the server executes
/// one after the other, and syncs between them.
constexpr std::size_t kPostgresWindow = 64;

constexpr char kCreate[] =
    "CREATE TABLE IF NOT EXISTS stout_bench_plain (key bytea PRIMARY KEY, value bytea)";
constexpr char kStatement[] = "upsert";
constexpr char kUpsert[] =
    "INSERT INTO stout_bench_plain VALUES ($1::bytea, $2::bytea) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// A store's URL without the options that are the store's own.
class Address {
 public:
  explicit Address(const std::string& text)
      : text_(text), url_(ParseStoreUrl(text, nullptr).value()) {
    server_ = "postgresql://" + url_.authority + url_.path;
    PQconninfoOption* const known = PQconndefaults();
    for (const PQconninfoOption* option = known; option != nullptr && option->keyword != nullptr;
         ++option) {
      known_.emplace_back(option->keyword);
    }
    PQconninfoFree(known);
  }

  /// `message` without parts of a password.
  [[nodiscard]] std::string Redact(std::string_view message) const {
    return RedactedMessage(message, text_);
  }

  [[nodiscard]] PGconn* Connect() const {
    std::vector<const char*> keywords = {"dbname"};
    std::vector<const char*> values = {server_.c_str()};
    for (const auto& [name, value] : url_.options) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) continue;
      keywords.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    return PQconnectdbParams(keywords.data(), values.data(), 1);
  }

 private:
  const std::string text_;
  const StoreUrl url_;
  std::string server_;
  std::vector<std::string> known_;
};

/// Uses libpq's pipeline mode, with a sync behind each statement. Each statement is therefore a
/// transaction of its own, and the same bytes are sent as without the mode. libpq 15 writes to the
/// socket at each sync.
class PostgresConnection final : public PooledConnection {
 public:
  PostgresConnection(const Address& address, asio::io_context& context)
      : connection_(address.Connect()), socket_(context) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error("plain libpq: " + address.Redact(PQerrorMessage(connection_.get())));
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
    Execute(PQexec(connection_.get(), kCreate));
    Execute(PQprepare(connection_.get(), kStatement, kUpsert, 0, nullptr));
    Check(PQsetnonblocking(connection_.get(), 1) == 0 &&
          PQenterPipelineMode(connection_.get()) == 1);
    socket_.assign(PQsocket(connection_.get()));
    AwaitAnswers();
  }
  ~PostgresConnection() { socket_.release(); }  // libpq closes it

  void Send(KeyView key, std::string_view value, Writer::Done done) {
    constexpr int kBinary = 1;
    const std::array<const char*, 2> values = {key.data(), value.data()};
    const std::array<int, 2> lengths = {static_cast<int>(key.size()),
                                        static_cast<int>(value.size())};
    constexpr std::array<int, 2> kFormats = {kBinary, kBinary};
    Sent(std::move(done));
    Check(PQsendQueryPrepared(connection_.get(), kStatement, 2, values.data(), lengths.data(),
                              kFormats.data(), kBinary) == 1 &&
          PQpipelineSync(connection_.get()) == 1);
    Flush();
  }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Result = std::unique_ptr<PGresult, Finish>;

  void Check(bool ok) const {
    if (!ok)
      throw std::runtime_error(std::string("plain libpq: ") + PQerrorMessage(connection_.get()));
  }
  void Execute(PGresult* raw) const {
    const Result result(raw);
    Check(PQresultStatus(result.get()) == PGRES_COMMAND_OK);
  }

  void Flush() {
    const int unsent = PQflush(connection_.get());
    Check(unsent >= 0);
    if (unsent == 0 || std::exchange(awaiting_room_, true)) return;
    socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                       [this](boost::system::error_code error) {
                         if (error) return;  // destroyed
                         awaiting_room_ = false;
                         Flush();
                       });
  }

  void AwaitAnswers() {
    socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [this](boost::system::error_code error) {
                         if (error) return;  // destroyed
                         Check(PQconsumeInput(connection_.get()) == 1);
                         ReadAnswers();
                         AwaitAnswers();
                       });
  }

  // Takes the answers of each statement: its result, a null pointer behind it, and the answer to
  // the sync.
  void ReadAnswers() {
    while (in_flight() > 0 && PQisBusy(connection_.get()) == 0) {
      const Result result(PQgetResult(connection_.get()));
      if (result == nullptr) continue;
      const ExecStatusType status = PQresultStatus(result.get());
      Check(status == PGRES_COMMAND_OK || status == PGRES_PIPELINE_SYNC);
      if (status == PGRES_PIPELINE_SYNC) Answered();
    }
  }

  const std::unique_ptr<PGconn, Finish> connection_;
  asio::posix::stream_descriptor socket_;
  bool awaiting_room_ = false;  // in the socket's buffer
};

}  // namespace

std::unique_ptr<Writer> OpenPostgresWriter(const std::string& url, const WriterSpec& spec,
                                           asio::io_context& context) {
  const Address address(url);
  std::vector<std::unique_ptr<PostgresConnection>> connections;
  for (std::size_t i = 0; i < spec.connections; ++i) {
    connections.push_back(std::make_unique<PostgresConnection>(address, context));
  }
  return std::make_unique<WriterPool<PostgresConnection>>(context, std::move(connections),
                                                          spec.pipelined ? kPostgresWindow : 1);
}

}  // namespace stout::bench
