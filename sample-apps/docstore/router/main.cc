// docstore-router: sends the requests for each document to the server that owns it.

#include "router/run_router.h"

int main(int argc, char** argv) { return stout::docstore::RunRouter(argc, argv); }
