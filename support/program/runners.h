#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <thread>
#include <vector>

namespace stout::program {

/// Threads that run a context until the object is destroyed.
class Runners {
 public:
  Runners(boost::asio::io_context& context, std::size_t threads)
      : context_(context), work_(boost::asio::make_work_guard(context)) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([&context] { context.run(); });
  }
  Runners(const Runners&) = delete;
  Runners& operator=(const Runners&) = delete;
  ~Runners() { Stop(); }

  void Stop() {
    context_.stop();
    threads_.clear();
  }

 private:
  boost::asio::io_context& context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::jthread> threads_;
};

}  // namespace stout::program
