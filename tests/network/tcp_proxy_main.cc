// tcp-proxy: a bad network for scripts.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "stout/core/parse_number.h"
#include "stout/core/policy/basic.h"
#include "tests/network/tcp_proxy.h"

namespace stout::test {
namespace {

constexpr char kHelp[] = R"(usage: tcp-proxy SERVER [FAULT...]

Listens on a free port of the loopback, which it prints ("listening on 127.0.0.1:PORT"), and passes
on what comes to SERVER: a port of the loopback, or the path of a socket. Ends with its standard
input, on which each line gives other faults, in place of those before it; an empty one: none. Each
line is answered by one with what it has done up to then.

  delay=5ms                 each way
  bytes_per_second=100000   each way, of all connections
  cut_after=20000           bytes to the server from now on, then all is cut
  swallow_answers           what the server says is lost, and for good all behind it on the same
                            connection
  hold_requests             what clients say waits, also once they are gone
  hold_connected            the same, of the connections that there are now
  refuse                    connections end at once
  cut                       once: every connection that there is
)";

std::uint64_t Number(std::string_view word, std::string_view text) {
  const auto number = internal::ParseNumber<std::uint64_t>(text);
  if (number) return *number;
  throw std::invalid_argument(fmt::format("{} is a number of bytes, not '{}'", word, text));
}

std::chrono::microseconds Time(std::string_view word, std::string_view text) {
  const std::optional<Duration> time = ParseDuration(text);
  if (!time)
    throw std::invalid_argument(fmt::format("{} is a time like 5ms, not '{}'", word, text));
  return std::chrono::floor<std::chrono::microseconds>(*time);
}

void Obey(TcpProxy& proxy, const std::string& line) {
  TcpProxy::Behaviour behaviour;
  bool cut = false;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "delay") {
      behaviour.delay = Time(name, value);
    } else if (name == "bytes_per_second") {
      behaviour.bytes_per_second = Number(name, value);
    } else if (name == "cut_after") {
      behaviour.cut_after = Number(name, value);
    } else if (word == "swallow_answers") {
      behaviour.swallow_answers = true;
    } else if (word == "hold_requests") {
      behaviour.hold_requests = true;
    } else if (word == "hold_connected") {
      behaviour.hold_connected = true;
    } else if (word == "refuse") {
      behaviour.refuse = true;
    } else if (word == "cut") {
      cut = true;
    } else {
      throw std::invalid_argument(fmt::format("no fault '{}'; see --help", word));
    }
  }
  proxy.Behave(behaviour);
  if (cut) proxy.Cut();
}

void Say(const std::string& line) {
  std::cout << line << std::endl;  // at once: a script waits for it
}

int Main(int argc, char** argv) {
  const std::string server = argc > 1 ? argv[1] : "--help";
  if (server == "--help") {
    fmt::print("{}", kHelp);
    return argc > 1 ? 0 : 2;
  }
  std::string faults;
  for (int i = 2; i < argc; ++i) faults.append(argv[i]) += ' ';
  const auto proxy = server.find('/') == std::string::npos
                         ? std::make_unique<TcpProxy>(static_cast<int>(Number("SERVER", server)))
                         : std::make_unique<TcpProxy>(std::filesystem::path(server));
  Obey(*proxy, faults);
  Say(fmt::format("listening on 127.0.0.1:{}", proxy->port()));
  for (std::string line; std::getline(std::cin, line);) {
    Obey(*proxy, line);
    const TcpProxy::Tally did = proxy->tally();
    Say(fmt::format("delayed={} throttled={} swallowed={} ghosts={} cuts={} refused={}",
                    did.delayed, did.throttled, did.swallowed, did.ghosts, did.cuts, did.refused));
  }
  return 0;
}

}  // namespace
}  // namespace stout::test

int main(int argc, char** argv) {
  try {
    return stout::test::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tcp-proxy: {}\n", error.what());
    return 2;
  }
}
