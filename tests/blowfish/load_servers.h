#pragma once

#include <map>
#include <string>

#include "tests/support/resp_client.h"

namespace stout::blowfish {

// Keys and values.
using Records = std::map<std::string, std::string>;

// Returns the records that the server at this port has of the keys of `records`, and one record
// more if it has others.
inline Records ReadBack(int port, const Records& records) {
  stout::test::RespClient client(port);
  for (const auto& [key, value] : records) client.Queue({"GET", key});
  client.Queue({"DBSIZE"});
  Records found;
  for (const auto& [key, value] : records) {
    const std::string reply = client.Receive();
    if (reply.starts_with('$')) found[key] = reply.substr(1);
  }
  if (client.Receive() != ":" + std::to_string(found.size())) found["and others"] = "";
  return found;
}

}  // namespace stout::blowfish
