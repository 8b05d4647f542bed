#pragma once

#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>
#include <utility>

#include "stout/unique_function.h"

namespace stout {

/// Turns a call that takes a UniqueFunction into one that takes an Asio completion token.
///
/// `start(UniqueFunction<Signature>)` begins the work and calls the function once, on any thread.
/// The token's handler is then posted, never called from inside, to its associated executor
/// (`fallback` if it has none), whose run() keeps going until then.
template <typename Signature, typename Start, typename Executor, typename Token>
auto Initiate(Start start, const Executor& fallback, Token&& token) {
  namespace asio = boost::asio;
  return asio::async_initiate<Token, Signature>(
      [](auto handler, Start start, const Executor& fallback) {
        auto executor = asio::prefer(asio::get_associated_executor(handler, fallback),
                                     asio::execution::outstanding_work.tracked);
        start(UniqueFunction<Signature>(
            [handler = std::move(handler), executor = std::move(executor)](auto&&... args) mutable {
              asio::post(executor,
                         asio::append(std::move(handler), std::forward<decltype(args)>(args)...));
            }));
      },
      token, std::move(start), fallback);
}

template <typename Signature, typename Start, typename Token>
auto Initiate(Start start, Token&& token) {
  return Initiate<Signature>(std::move(start), boost::asio::system_executor(),
                             std::forward<Token>(token));
}

}  // namespace stout
