#include "tests/support/datalet_node.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <future>
#include <stdexcept>

namespace stout::test {

namespace asio = boost::asio;

DataletNode::DataletNode(Store* datalet, int port, const std::string& password, const SetUp& set_up)
    : service_(ranges_, keys_, nullptr, password), listener_(context_, service_) {
  service_.datalet = datalet;
  if (set_up) set_up(service_);
  Diagnostics why;
  if (listener_.Listen("127.0.0.1", static_cast<std::uint16_t>(port), &why)) {
    throw std::runtime_error(why.message);
  }
  listener_.Start();
  thread_ = std::jthread([this] {
    const auto work = asio::make_work_guard(context_);
    context_.run();
  });
}

void DataletNode::Stop() {
  if (!thread_.joinable()) return;
  std::promise<void> drained;
  asio::post(context_, [&] { listener_.Drain([&] { drained.set_value(); }); });
  drained.get_future().wait();
  context_.stop();
  thread_.join();
}

std::string DataletNode::Url(const std::string& user, const std::string& options) const {
  return "stout://" + user + "127.0.0.1:" + std::to_string(port()) +
         (options.empty() ? "" : "?" + options);
}

}  // namespace stout::test
