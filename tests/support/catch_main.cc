// edge: the test programs' main, which version 2 asks for and version 3 brings along.
#ifndef AGENTBOX_CATCH2_V3
#define CATCH_CONFIG_MAIN
#endif
#include "support/catch.h"
