// docstore-load: an open-loop load generator for docstore-server that can prove what was kept.

#include "load/run_load.h"

int main(int argc, char** argv) { return stout::load::RunLoad(argc, argv); }
