// pure: see timeline_svg.h.
#include "provision/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"

namespace agentbox::provision {
namespace {

/// A picture of more rows is of no use.
constexpr std::size_t kMaxRows = 500;
constexpr std::size_t kMaxTextBytes = 400;
constexpr int kWidth = 1100;
constexpr int kBarLeft = 330;
constexpr int kBarRight = 780;
constexpr int kRow = 22;
constexpr int kTop = 58;  // axis, and the lane of refused logins
constexpr int kTicks = 5;

constexpr std::string_view kStyle =
    ".tl{font:12px ui-monospace,monospace;max-width:100%;height:auto;background:#fff}"
    ".tl-text{fill:#1f2328}.tl-faint{fill:#59636e}.tl-line{stroke:#d1d9e0}"
    ".tl-start{stroke:#8250df;stroke-dasharray:3 3}.tl-bar{fill:#0969da}.tl-open{fill:#1a7f37}"
    ".tl-failed{fill:#bc4c00}.tl-refused{fill:#cf222e}"
    "@media(prefers-color-scheme:dark){.tl{background:#0d1117}.tl-text{fill:#f0f6fc}"
    ".tl-faint{fill:#9198a1}.tl-line{stroke:#3d444d}.tl-start{stroke:#a371f7}"
    ".tl-bar{fill:#4493f8}.tl-open{fill:#3fb950}.tl-failed{fill:#db6d28}.tl-refused{fill:#f85149}}";

constexpr std::string_view kPageStyle =
    "body{font:15px system-ui,sans-serif;margin:2em;color:#1f2328;background:#fff}"
    "li.bad{color:#cf222e;font-weight:bold}"
    "@media(prefers-color-scheme:dark){body{color:#f0f6fc;background:#0d1117}"
    "li.bad{color:#f85149}}";

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

double across(const Timeline& timeline, const std::string& time) {
  return kBarLeft + position(timeline, time) * (kBarRight - kBarLeft);
}

std::string words(double x, double y, std::string_view style, const std::string& text,
                  std::string_view anchor = "start") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + std::string(style) +
         "\" text-anchor=\"" + std::string(anchor) + "\">" + markup_text(text) + "</text>\n";
}

std::string box(double x, double y, double width, double height, std::string_view style,
                const std::string& title) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
         "\" height=\"" + number(height) + "\" rx=\"2\" class=\"" + std::string(style) +
         "\"><title>" + markup_text(title) + "</title></rect>\n";
}

std::string upright(double x, double from, double to, std::string_view style,
                    const std::string& title) {
  return "<line x1=\"" + number(x) + "\" y1=\"" + number(from) + "\" x2=\"" + number(x) +
         "\" y2=\"" + number(to) + "\" class=\"" + std::string(style) + "\"><title>" +
         markup_text(title) + "</title></line>\n";
}

std::string axis(const Timeline& timeline, double bottom) {
  std::string text;
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    text += upright(kBarLeft + share * (kBarRight - kBarLeft), kTop - 34, bottom, "tl-line", "");
  }
  text += words(kBarLeft, 16, "tl-faint", timeline.from.substr(0, 19) + "Z");
  text += words(kBarRight, 16, "tl-faint", timeline.to.substr(0, 19) + "Z", "end");
  return text +
         words(8, kTop - 18, "tl-faint", "refused logins: " + std::to_string(timeline.refused));
}

std::string mark(const Timeline& timeline, const TimelineMark& mark, double bottom) {
  const double from = across(timeline, mark.from);
  if (mark.kind == TimelineMark::Kind::kStart) {
    return upright(from, kTop - 34, bottom, "tl-start", mark.from + " " + mark_words(mark));
  }
  const double width = std::max(3.0, across(timeline, mark.to) - from);
  return box(from, kTop - 28, width, 12, "tl-refused", mark.from + " " + mark_words(mark));
}

std::string row(const Timeline& timeline, const TimelineSession& session, double y) {
  const std::string& end = session.end.empty() ? timeline.to : session.end;
  const double from = across(timeline, session.start);
  const double width = std::max(3.0, across(timeline, end) - from);
  const std::string calls =
      std::to_string(session.calls) + " calls" +
      (session.failed_calls > 0 ? ", " + std::to_string(session.failed_calls) + " failed"
                                : std::string());
  const std::string lasted = duration_words(session.start, end);
  const std::string_view style = session.end.empty()        ? "tl-open"
                                 : session.failed_calls > 0 ? "tl-failed"
                                                            : "tl-bar";
  return words(8, y + 14, "tl-faint", session.start.substr(0, 19) + "Z") +
         words(160, y + 14, "tl-text", key_words(timeline, session).substr(0, 24)) +
         box(from, y + 4, width, kRow - 8, style,
             session.id + " of " + key_words(timeline, session) + " from " + session.peer + ": " +
                 calls + ", " + session.how) +
         words(kBarRight + 10, y + 14, "tl-text", lasted + "  " + calls + "  " + session.how);
}

std::string drawing(const Timeline& timeline, std::string_view style) {
  const std::size_t rows = std::min(timeline.sessions.size(), kMaxRows);
  const std::uint64_t left_out = timeline.sessions_left_out + (timeline.sessions.size() - rows);
  const double bottom = kTop + static_cast<double>(rows) * kRow + 4;
  const double height = bottom + 24;
  std::string text =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tl\" role=\"img\" "
      "aria-label=\"sessions over time\" width=\"" +
      std::to_string(kWidth) + "\" height=\"" + number(height) + "\" viewBox=\"0 0 " +
      std::to_string(kWidth) + " " + number(height) + "\">\n";
  if (!style.empty()) {
    text += "<style>" + std::string(style) + "</style>\n";
  }
  text += axis(timeline, bottom);
  for (const TimelineMark& each : timeline.marks) {
    text += mark(timeline, each, bottom);
  }
  double y = kTop;
  for (std::size_t i = timeline.sessions.size() - rows; i < timeline.sessions.size(); ++i) {
    text += row(timeline, timeline.sessions[i], y);
    y += kRow;
  }
  text += words(8, bottom + 16, "tl-faint",
                std::to_string(rows) + " sessions" +
                    (left_out > 0 ? ", " + std::to_string(left_out) + " older ones left out"
                                  : std::string()));
  return text + "</svg>\n";
}

std::string list_of(const std::vector<std::string>& lines, std::string_view kind) {
  std::string text;
  for (const std::string& line : lines) {
    text += "<li" + (kind.empty() ? std::string() : " class=\"" + std::string(kind) + "\"") + ">" +
            markup_text(line) + "</li>\n";
  }
  return text;
}

}  // namespace

std::string markup_text(std::string_view text) {
  std::string escaped;
  for (const char c : printable_text(text, kMaxTextBytes)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string render_timeline_svg(const Timeline& timeline) { return drawing(timeline, {}); }

std::string_view timeline_style() { return kStyle; }

std::string render_timeline_svg_file(const Timeline& timeline) { return drawing(timeline, kStyle); }

std::string render_timeline_page(const Timeline& timeline, const std::string& title,
                                 const std::vector<std::string>& findings,
                                 const std::vector<std::string>& remarks) {
  const std::string style = std::string(kPageStyle) + std::string(kStyle);
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'sha256-" +
         base64_encode(sha256(style)) +
         "'; base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
         markup_text(title) + "</title>\n<style>" + style + "</style></head>\n<body><h1>" +
         markup_text(title) + "</h1>\n<ul>\n" + list_of(findings, "bad") + list_of(remarks, "") +
         "</ul>\n" + render_timeline_svg(timeline) + "</body></html>\n";
}

}  // namespace agentbox::provision
