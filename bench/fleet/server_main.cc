// docstore-server-opponents: docstore-server, with the laws of other systems among its policies.

#include "policies/opponents/opponents.h"
#include "server/run_server.h"

int main(int argc, char** argv) {
  return stout::docstore::RunServer(
      argc, argv, {.read = stout::bench::MakeOpponent, .syntax = stout::bench::OpponentSyntax});
}
