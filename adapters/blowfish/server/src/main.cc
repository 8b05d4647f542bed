// blowfish-server: keys in compressed, searchable shards, for clients of redis.

#include "run_server.h"

int main(int argc, char** argv) { return stout::blowfish::RunServer(argc, argv); }
