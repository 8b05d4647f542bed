#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::bench {

/// Writes as an application does without libstout: one statement or command per change, over
/// several connections, or threads if the store is embedded.
///
/// It must not collapse changes, nor batch them. Otherwise it is as good as the store's own client
/// allows: statements are prepared, nothing blocks, and no change waits while a connection is free.
/// It keeps no order between two changes of one document, which libstout does.
struct WriterSpec {
  std::size_t connections = 1;
  /// Sends on without waiting for earlier answers. Otherwise a connection has one write under way.
  bool pipelined = false;

  /// "pool:16", "pipelined:4".
  [[nodiscard]] std::string Name() const;
};

/// Reads the text that Name() writes. Returns nullopt for any other text.
[[nodiscard]] std::optional<WriterSpec> ParseWriter(std::string_view text);

/// A client of a store, connected.
///
/// Threads: all on the context that it was made with.
/// Errors: a write that fails, and a connection that is lost, throws std::runtime_error out of the
///   context: such a run has nothing to tell.
class Writer {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;

  virtual ~Writer() = default;

  /// Both views stay valid until `done` has run: when the value is durable, never inside the call.
  virtual void Write(KeyView key, std::string_view value, Done done) = 0;

  /// Sends nothing more. Every change without an answer fails with kClosed soon.
  virtual void Cancel() = 0;

  /// Returns true if no change is under way, cancelled or not.
  [[nodiscard]] virtual bool Idle() const = 0;
};

/// By the scheme of a store's URL, of whose options none matters here: `postgres:`, `redis:` and
/// `rocksdb:`, which has a database of its own beside that of the URL. Blocks until connected.
/// Throws std::runtime_error, whose text says what is wrong.
[[nodiscard]] std::unique_ptr<Writer> OpenWriter(const std::string& url, const WriterSpec& spec,
                                                 boost::asio::io_context& context);

}  // namespace stout::bench
