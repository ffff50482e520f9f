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

Result<std::int64_t> parse_time(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd.dddZ";
  std::array<int, 7> numbers{};  // year, month, day, hour, minute, second, millisecond
  std::size_t at = 0;
  bool fits = text.size() == kShape.size();
  for (std::size_t i = 0; fits && i < kShape.size(); ++i) {
    if (kShape[i] != 'd') {
      fits = text[i] == kShape[i];
      ++at;
    } else {
      fits = text[i] >= '0' && text[i] <= '9';
      numbers.at(at) = numbers.at(at) * 10 + (text[i] - '0');
    }
  }
  const auto [years, months, day_number, hour, minute, second, millisecond] = numbers;
  const year_month_day date{year{years}, month{static_cast<unsigned>(months)},
                            day{static_cast<unsigned>(day_number)}};
  if (!fits || !date.ok() || hour > 23 || minute > 59 || second > 59) {
    return Error{Code::kInvalid, "not a time as this program writes it"};
  }
  const auto instant =
      sys_days(date) + hours(hour) + minutes(minute) + seconds(second) + milliseconds(millisecond);
  return duration_cast<milliseconds>(instant.time_since_epoch()).count();
}

}  // namespace agentbox
