#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>

#include "load/documents.h"
#include "load/open_loop.h"
#include "stout/core/policy.h"
#include "stout/interposer.h"
#include "stout/store.h"

namespace stout::bench {

/// One application server: an interposer with documents of its own.
///
/// Owner: as an Interposer. `store` outlives it.
/// Threads: everything on get_executor().
class AppServer final : public Target {
 public:
  AppServer(const boost::asio::any_io_executor& executor, Store& store, const Policy& policy,
            Documents documents, std::uint64_t seed);

  [[nodiscard]] Interposer::Executor get_executor() const { return interposer_.get_executor(); }

  /// Throws boost::system::system_error if the store cannot give an epoch.
  [[nodiscard]] boost::asio::awaitable<void> Open();

  void Change(std::size_t document, Answer answer) override;
  [[nodiscard]] Totals Count() const override;
  void Close() override { interposer_.Close(); }

 private:
  Documents documents_;
  Interposer interposer_;  // last: it serialises from the documents
};

}  // namespace stout::bench
