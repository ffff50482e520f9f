// pure: see utc.h.
#include "base/utc.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace agentbox {

std::string format_time(const timespec& time, int digits) {
  std::tm parts{};
  if (::gmtime_r(&time.tv_sec, &parts) == nullptr) {
    return "unknown";
  }
  std::array<char, 96> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%09ld",
                                 parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                                 parts.tm_hour, parts.tm_min, parts.tm_sec, time.tv_nsec);
  constexpr int kAllDigits = 9;
  // Without a fraction its point goes too.
  const int dropped = digits > 0 ? kAllDigits - digits : kAllDigits + 1;
  return std::string(text.data(), static_cast<std::size_t>(size - dropped)) + "Z";
}

std::string format_time(std::int64_t milliseconds) {
  constexpr std::int64_t kPerSecond = 1000;
  constexpr std::int64_t kNanoseconds = 1'000'000;
  const std::int64_t fraction = ((milliseconds % kPerSecond) + kPerSecond) % kPerSecond;
  return format_time(
      {.tv_sec = (milliseconds - fraction) / kPerSecond, .tv_nsec = fraction * kNanoseconds}, 3);
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
