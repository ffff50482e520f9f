// pure: the test library behind one include, whichever of its two versions is installed.
#pragma once

#ifdef AGENTBOX_CATCH2_V3
#include <catch2/catch_all.hpp>  // IWYU pragma: export
using Catch::Approx;
#else
#include <catch2/catch.hpp>  // IWYU pragma: export
#endif
