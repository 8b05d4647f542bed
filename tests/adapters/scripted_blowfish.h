#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "scripted_resp_server.h"

namespace stout::test {

/// To a write, if it is done.
inline constexpr std::string_view kOk = "*2\r\n:0\r\n+OK\r\n";
/// To SCHEMA.
inline const ScriptedRespServer::Answer kCannotSearch{"-ERR unknown command 'SCHEMA'\r\n"};

/// To STOUT.SHARDS, as a server of RESP2 has it.
inline std::string Facts(int shards, int items = 100, int bytes = 1000, int version = 1,
                         bool stamps = false) {
  const auto field = [](const std::string& name, int value) {
    return Bulk(name) + ":" + std::to_string(value) + "\r\n";
  };
  return (stamps ? "*12\r\n" : "*10\r\n") + field("version", version) + field("shards", shards) +
         field("max-batch-items", items) + field("max-batch-bytes", bytes) +
         field("tombstone-ms", 3'600'000) + (stamps ? field("stamps", 1) : "");
}

/// A server of this number of shards, without searches, with a fixed answer to everything else.
inline ScriptedRespServer::Script Shards(int shards, ScriptedRespServer::Script others) {
  using Answer = ScriptedRespServer::Answer;
  return [shards, others = std::move(others)](const ScriptedRespServer::Command& command) {
    if (command[0] == "STOUT.SHARDS") return Answer{Facts(shards)};
    if (command[0] == "SCHEMA") return kCannotSearch;
    return others(command);
  };
}
inline ScriptedRespServer::Script Shards(int shards, std::string_view answer, bool close = false) {
  using Answer = ScriptedRespServer::Answer;
  return Shards(shards, [answer = Answer{std::string(answer), close}](
                            const ScriptedRespServer::Command&) { return answer; });
}

}  // namespace stout::test
