#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "load/documents.h"
#include "load/open_loop.h"
#include "stores/writer.h"
#include "stout/core/policy.h"

namespace stout::bench {

/// A target for one trial, and what runs it. It ends when nothing of it is under way any more; but
/// at once, without another answer, when an exception ends it.
///
/// Threads: that of who runs the context.
/// Errors: the context may throw std::runtime_error, whose text says which write failed and why.
class Session {
 public:
  virtual ~Session() = default;
  [[nodiscard]] virtual boost::asio::io_context& context() = 0;
  /// On which the target is called.
  [[nodiscard]] virtual boost::asio::any_io_executor executor() = 0;
  [[nodiscard]] virtual Target& target() = 0;
};

/// The documents of a comparison.
struct DocumentsSpec {
  std::size_t count = 10000;
  std::size_t value_bytes = 256;
};

/// One way to make the changes of an application server durable. One session at a time; none after
/// one that an exception ended.
class Contender {
 public:
  virtual ~Contender() = default;
  [[nodiscard]] virtual std::string Name() const = 0;
  /// Begins a session without remains of an earlier one. Throws std::runtime_error with the cause
  /// if that is impossible.
  [[nodiscard]] virtual std::unique_ptr<Session> Begin(std::uint64_t seed) = 0;
};

/// Opens a client as applications without libstout have it. Its connections stay open between
/// sessions. Throws as OpenWriter.
[[nodiscard]] std::unique_ptr<Contender> MakePlain(const std::string& url, const WriterSpec& spec,
                                                   const DocumentsSpec& documents);

/// An interposer over the store. Each session opens both anew.
[[nodiscard]] std::unique_ptr<Contender> MakeStout(const std::string& url, const Policy& policy,
                                                   const DocumentsSpec& documents);

}  // namespace stout::bench
