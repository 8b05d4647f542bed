#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <string>

namespace stout::resp {

struct UnixSocketOptions {
  std::string path;    ///< empty: there is none
  mode_t mode = 0600;  ///< of the file; a client must be allowed to write to it
};

/// A Unix socket at which a server listens. Its file is removed when it is closed.
///
/// Threads: the executor's of its acceptor.
class UnixSocket {
 public:
  using Acceptor = boost::asio::local::stream_protocol::acceptor;

  explicit UnixSocket(boost::asio::io_context& context) : acceptor_(context) {}
  UnixSocket(const UnixSocket&) = delete;
  UnixSocket& operator=(const UnixSocket&) = delete;
  ~UnixSocket() { Close(); }

  /// Makes the file and listens. A socket at which nobody listens is replaced, because a process
  /// that was killed leaves one. Any other file stays, with file_exists.
  [[nodiscard]] boost::system::error_code Listen(const UnixSocketOptions& options);
  /// Removes the file, unless another process has replaced it.
  void Close();

  [[nodiscard]] Acceptor& acceptor() { return acceptor_; }

 private:
  struct FileId {
    dev_t device = 0;
    ino_t inode = 0;

    bool operator==(const FileId&) const = default;
  };

  // Returns nullopt if there is no socket at the path.
  static std::optional<FileId> SocketAt(const std::string& path);
  static void RemoveUnused(const boost::asio::local::stream_protocol::endpoint& endpoint);

  Acceptor acceptor_;
  std::string path_;
  std::optional<FileId> file_;
};

}  // namespace stout::resp
