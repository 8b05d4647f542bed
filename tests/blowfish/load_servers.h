#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "set_command.h"

namespace stout::blowfish {

// Keys and values.
using Records = std::map<std::string, std::string>;

// What a Redis at this port has of the keys of `records`; it has nothing else if sizes are equal.
inline Records ReadBack(int port, const Records& records) {
  namespace asio = boost::asio;
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)});
  std::string input;
  const auto read_number = [&] {  // behind the byte that tells the kind
    const std::size_t size = asio::read_until(socket, asio::dynamic_buffer(input), "\r\n");
    const long long number = std::stoll(input.substr(1, size - 3));
    input.erase(0, size);
    return number;
  };
  Records found;
  for (const auto& [key, value] : records) {
    asio::write(socket, asio::buffer(EncodeCommand({"GET", key})));
    const long long size = read_number();
    if (size < 0) continue;
    const std::size_t whole = static_cast<std::size_t>(size) + 2;
    if (input.size() < whole) {
      asio::read(socket, asio::dynamic_buffer(input), asio::transfer_exactly(whole - input.size()));
    }
    found[key] = input.substr(0, static_cast<std::size_t>(size));
    input.erase(0, whole);
  }
  asio::write(socket, asio::buffer(EncodeCommand({"DBSIZE"})));
  if (read_number() != static_cast<long long>(found.size())) found["and others"] = "";
  return found;
}

}  // namespace stout::blowfish
