// docstore-import: puts text files into a document service, a document per file.

#include "import/run_import.h"

int main(int argc, char** argv) { return stout::docstore::RunImport(argc, argv); }
