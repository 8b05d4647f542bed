// docstore-server: sectioned documents over HTTP, in memory and durable.

#include "server/run_server.h"

int main(int argc, char** argv) { return stout::docstore::RunServer(argc, argv); }
