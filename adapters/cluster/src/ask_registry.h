#pragma once

#include <functional>
#include <future>
#include <tuple>
#include <utility>

#include "stout/error.h"

namespace stout {

/// Blocks until an asynchronous call has answered.
///
///     const auto [ec, table] =
///         Wait<RegistryTable>([&](auto handler) { registry.Read(std::move(handler)); });
template <typename... Answer, typename Call>
std::tuple<ErrorCode, Answer...> Wait(Call call) {
  std::promise<std::tuple<ErrorCode, Answer...>> promise;
  call([&promise](ErrorCode ec, Answer... answer) {
    promise.set_value({ec, std::move(answer)...});
  });
  return promise.get_future().get();
}

/// Calls `ask` until it returns no error, up to `attempts` times with pauses. Returns kTransient if
/// each of them failed.
[[nodiscard]] ErrorCode AskRegistry(int attempts, const std::function<ErrorCode()>& ask,
                                    Diagnostics* diagnostics);

}  // namespace stout
