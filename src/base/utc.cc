// pure: see utc.h.
#include "base/utc.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace agentbox {

std::string format_time(std::int64_t milliseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::milliseconds> instant{std::chrono::milliseconds(milliseconds)};
  const auto day = floor<days>(instant);
  const year_month_day date(day);
  const hh_mm_ss time(instant - day);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text.data();
}

}  // namespace agentbox
