#include "resp/server/service.h"

#include "resp/server/session_commands.h"

namespace stout::resp {

Service::Service(std::string_view server_name, std::string_view program_name,
                 std::span<const Command> rows, std::string required_password)
    : server(server_name),
      program(program_name),
      commands({SessionCommands(), rows}),
      password(std::move(required_password)),
      command_stats(commands) {}

}  // namespace stout::resp
