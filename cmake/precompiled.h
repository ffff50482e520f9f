// What nearly every source includes, read once: most of the time of a build goes into these headers.
// A source still includes all it uses itself; the fuzz preset builds without this file and shows where one does not.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
