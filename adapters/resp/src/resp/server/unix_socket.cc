#include "resp/server/unix_socket.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <utility>

namespace stout::resp {

namespace asio = boost::asio;
using boost::system::error_code;

error_code UnixSocket::Listen(const UnixSocketOptions& options) {
  try {
    const asio::local::stream_protocol::endpoint endpoint(options.path);
    RemoveUnused(endpoint);
    struct stat found {};
    if (::lstat(options.path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
      return boost::system::errc::make_error_code(boost::system::errc::file_exists);
    }
    acceptor_.open(endpoint.protocol());
    acceptor_.bind(endpoint);
    path_ = options.path;
    file_ = SocketAt(path_);
    if (::chmod(path_.c_str(), options.mode) != 0) {
      return {errno, boost::system::system_category()};
    }
    acceptor_.listen();
    return {};
  } catch (const boost::system::system_error& error) {
    return error.code();
  }
}

void UnixSocket::Close() {
  // The file goes first, because another process may replace it as soon as nobody listens.
  if (file_ && SocketAt(path_) == std::exchange(file_, {})) ::unlink(path_.c_str());
  error_code ignored;
  acceptor_.close(ignored);
}

std::optional<UnixSocket::FileId> UnixSocket::SocketAt(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return std::nullopt;
  return FileId{found.st_dev, found.st_ino};
}

void UnixSocket::RemoveUnused(const asio::local::stream_protocol::endpoint& endpoint) {
  if (!SocketAt(endpoint.path())) return;
  asio::io_context context;
  asio::local::stream_protocol::socket client(context);
  client.open();
  client.non_blocking(true);  // the queue of a process that was stopped may be full
  error_code failed;
  client.connect(endpoint, failed);
  if (failed == asio::error::connection_refused) ::unlink(endpoint.path().c_str());
}

}  // namespace stout::resp
