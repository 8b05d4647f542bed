#include "fleet/server_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <boost/process/args.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/io.hpp>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace stout::bench {
namespace {

namespace process = boost::process;

constexpr std::chrono::seconds kPatience(30);
constexpr int kPollMs = 100;
constexpr std::string_view kListening = "listening on 127.0.0.1:";

void Detach() {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace

ServerProcess::ServerProcess(const std::string& program, const std::vector<std::string>& arguments)
    : child_(
          process::exe = program, process::args = arguments,
          process::std_in<process::null, process::std_out> output_,
          process::extend::on_exec_setup = [](auto& /*executor*/) { Detach(); }) {}

ServerProcess::~ServerProcess() {
  std::error_code gone;  // it may have ended by itself
  child_.terminate(gone);
}

boost::asio::ip::tcp::endpoint ServerProcess::WaitUntilListening(
    const std::atomic<bool>& interrupted) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  pollfd said{.fd = output_.pipe().native_source(), .events = POLLIN, .revents = 0};
  while (::poll(&said, 1, kPollMs) <= 0) {
    if (interrupted || std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("an application server did not start in time");
    }
  }
  std::string line;
  if (!std::getline(output_, line) || !line.starts_with(kListening)) {
    throw std::runtime_error("an application server did not start");
  }
  const int port = std::stoi(line.substr(kListening.size()));
  return {boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)};
}

}  // namespace stout::bench
