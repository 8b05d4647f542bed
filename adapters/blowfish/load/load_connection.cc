#include "blowfish/load/load_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <variant>

#include "resp/client/errors.h"
#include "stout/adapters/no_throw.h"
#include "stout/core/backoff.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using std::chrono::steady_clock;

constexpr std::size_t kSendBytes = std::size_t{64} << 10;
constexpr std::size_t kReceiveBytes = std::size_t{16} << 10;
constexpr std::size_t kLongestAnswer = std::size_t{64} << 10;
constexpr Backoff kBackoff{std::chrono::milliseconds(50), std::chrono::seconds(2)};
// The patience is cut into parts: a silence of one part ends the connection, and new connections
// get the other parts.
constexpr int kSilences = 3;

std::string Describe(const boost::system::error_code& ec) {
  return ec == asio::error::eof ? "the server closed the connection" : ec.message();
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

LoadConnection::LoadConnection(const asio::any_io_executor& executor, const LoaderOptions& options,
                               LoadListener& listener, std::uint64_t seed)
    : options_(options),
      listener_(listener),
      resolver_(executor),
      socket_(executor),
      pause_(executor),
      work_(executor),
      window_(options.window),
      answers_(kLongestAnswer),
      random_(seed) {}

void LoadConnection::Add(std::string_view key, std::string_view value, std::uint64_t line) {
  if (window_.empty()) progressed_at_ = steady_clock::now();
  window_.Add(key, value, line);
  work_.Notify();
}

void LoadConnection::Flush() {
  window_.Flush();
  work_.Notify();
}

asio::awaitable<void> LoadConnection::Run() {
  while (!closed_) {
    std::string trouble = co_await Connect();
    if (trouble.empty()) trouble = co_await Exchange();
    if (closed_) break;
    Cancel();
    if (std::exchange(late_, false)) {
      trouble = fmt::format("no answer for {:g} s", Seconds(options_.patience / kSilences));
    }
    silence_.reset();
    again_ = false;
    window_.Rewind();
    Trouble(std::move(trouble));
    co_await Pause();
  }
}

asio::awaitable<std::string> LoadConnection::Connect() {
  silence_ = steady_clock::now();
  answers_ = LineCutter(kLongestAnswer);
  std::string trouble = co_await Reach();
  if (trouble.empty() && !options_.password.empty()) trouble = co_await Authenticate();
  silence_.reset();
  co_return trouble;
}

asio::awaitable<std::string> LoadConnection::Reach() {
  const std::string service = std::to_string(options_.server.port);
  const auto [unknown, endpoints] =
      co_await resolver_.async_resolve(options_.server.host, service, kNoThrow);
  if (unknown) co_return Describe(unknown);
  // A socket knows nothing of what was cancelled before it was opened.
  if (cancelled()) co_return "cancelled";
  const auto [refused, endpoint] = co_await asio::async_connect(socket_, endpoints, kNoThrow);
  if (refused) co_return Describe(refused);
  if (cancelled()) co_return "cancelled";
  boost::system::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  co_return std::string();
}

asio::awaitable<std::string> LoadConnection::Authenticate() {
  const std::string command = EncodeCommand({"AUTH", options_.password});
  const auto [failed, sent] = co_await asio::async_write(socket_, asio::buffer(command), kNoThrow);
  if (failed) co_return Describe(failed);
  for (;;) {
    if (const std::optional<std::string> line = NextAnswer()) {
      const Answer answer = Classify(*line);
      if (answer == Answer::kDone) co_return std::string();
      const std::size_t kind = std::min<std::size_t>(1, line->size());
      std::string error(resp::WithoutArguments(std::string_view(*line).substr(kind)));
      if (answer != Answer::kAgain) {
        GiveUp(fmt::format("the server refuses the password: {}; check that it is this server's",
                           error));
      }
      co_return error;
    }
    std::string lost = co_await ReadSome();
    if (!lost.empty()) co_return lost;
  }
}

asio::awaitable<std::string> LoadConnection::Exchange() {
  std::variant<std::string, std::string> ended = co_await (Send() || Receive());
  co_return std::visit([](std::string& trouble) { return std::move(trouble); }, ended);
}

// Either ends when the other has closed the socket.
asio::awaitable<std::string> LoadConnection::Send() {
  std::string bytes;
  while (socket_.is_open()) {
    bytes.clear();
    window_.TakeUnsent(kSendBytes, bytes);
    if (bytes.empty()) {
      co_await work_.Wait();
      continue;
    }
    if (!silence_) silence_ = steady_clock::now();
    const auto [failed, sent] = co_await asio::async_write(socket_, asio::buffer(bytes), kNoThrow);
    if (failed) co_return Describe(failed);
  }
  co_return std::string();
}

asio::awaitable<std::string> LoadConnection::Receive() {
  for (;;) {
    std::string lost = co_await ReadSome();
    std::string useless = TakeAnswers();
    if (lost.empty()) lost = std::move(useless);
    if (!lost.empty()) {
      Cancel();
      co_return lost;
    }
    if (window_.due() == 0) silence_.reset();
    if (window_.round_over()) {
      if (std::exchange(again_, false)) co_await Pause();
      window_.Rewind();
    }
    work_.Notify();
    listener_.OnRoom();
  }
}

std::string LoadConnection::TakeAnswers() {
  while (const std::optional<std::string> line = NextAnswer()) {
    std::string useless = OnAnswer(*line);
    if (!useless.empty()) return useless;
  }
  return {};
}

asio::awaitable<std::string> LoadConnection::ReadSome() {
  const std::span<char> room = answers_.Prepare(kReceiveBytes);
  const auto [failed, size] =
      co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), kNoThrow);
  if (failed) co_return Describe(failed);
  answers_.Commit(size);
  silence_ = steady_clock::now();
  co_return std::string();
}

std::optional<std::string> LoadConnection::NextAnswer() {
  const std::optional<LineCutter::Line> line = answers_.Next();
  if (!line) return std::nullopt;
  std::string_view text = line->text;
  if (text.ends_with('\r')) text.remove_suffix(1);
  return std::string(text);
}

std::string LoadConnection::OnAnswer(const std::string& line) {
  const Answer answer = Classify(line);
  if (answer == Answer::kNonsense) {
    GiveUp("the server is neither a blowfish-server nor a Redis; check --to");
    return line;
  }
  std::string error = line.substr(1);
  if (answer == Answer::kForbidden) {
    GiveUp(
        fmt::format("the server requires a password, or another one: {}; give it in a file with "
                    "--password-file, or in the environment as BLOWFISH_PASSWORD",
                    error));
    return error;
  }
  if (window_.due() == 0) return error;  // Nobody has asked: it says why it will not have us.
  const SendWindow::Outcome outcome = window_.OnAnswer(answer);
  switch (outcome.kind) {
    case SendWindow::Outcome::Kind::kLoaded:
      listener_.OnLoaded(outcome.records, outcome.bytes);
      Progressed();
      break;
    case SendWindow::Outcome::Kind::kRefused:
      listener_.OnRefused(outcome.line, error);
      Progressed();
      break;
    case SendWindow::Outcome::Kind::kApart:
      Progressed();
      break;
    case SendWindow::Outcome::Kind::kAgain:
      again_ = true;
      Trouble(error);
      break;
    case SendWindow::Outcome::Kind::kNothing:
      break;
  }
  return {};
}

asio::awaitable<void> LoadConnection::Pause() {
  if (closed_) co_return;
  pause_.expires_after(kBackoff.Pause(++failures_, random_));
  co_await pause_.async_wait(kNoThrow);
}

void LoadConnection::Progressed() {
  progressed_at_ = steady_clock::now();
  failures_ = 0;
  trouble_.clear();
}

void LoadConnection::Trouble(std::string text) {
  if (text == trouble_) return;
  trouble_ = std::move(text);
  listener_.OnTrouble(trouble_);
}

void LoadConnection::Watch(SteadyTime now) {
  if (closed_) return;
  if (!window_.empty() && now - progressed_at_ > options_.patience) {
    GiveUp(fmt::format("no progress for {:g} s{}{}; check the server, or raise --patience",
                       Seconds(options_.patience), trouble_.empty() ? "" : ": ", trouble_));
  } else if (silence_ && now - *silence_ > options_.patience / kSilences) {
    silence_.reset();
    late_ = true;
    Cancel();
  }
}

void LoadConnection::GiveUp(const std::string& why) {
  if (!closed_) listener_.OnGaveUp(why);
}

void LoadConnection::Close() {
  closed_ = true;
  pause_.cancel();
  work_.Notify();
  Cancel();
}

void LoadConnection::Cancel() {
  boost::system::error_code ignored;
  resolver_.cancel();
  socket_.close(ignored);
}

}  // namespace stout::blowfish
