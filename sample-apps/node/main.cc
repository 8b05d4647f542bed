// stout-node: any stout::Store behind the protocol of Redis.

#include "node/run_node.h"

int main(int argc, char** argv) { return stout::node::RunNode(argc, argv); }
