// pure: a timeline as a picture.
#pragma once

#include <string>
#include <string_view>

#include "provision/timeline.h"

namespace agentbox::provision {

/// TEXT inside an element or a quoted attribute of HTML or SVG. What is not printable ASCII comes
/// out escaped.
[[nodiscard]] std::string markup_text(std::string_view text);

/// An <svg> element to stand in a page that has timeline_style() in a <style>: nothing in it is
/// styled in place, so a page can forbid that. No name of a font, file or host is in it.
[[nodiscard]] std::string render_timeline_svg(const Timeline& timeline);
/// Colours for light and for dark, of classes that begin with `tl-`.
[[nodiscard]] std::string_view timeline_style();

/// A file of its own: the same with its style in it.
[[nodiscard]] std::string render_timeline_svg_file(const Timeline& timeline);
/// A page of its own; FINDINGS are said above the picture. A policy in it lets nothing be loaded,
/// and no script run.
[[nodiscard]] std::string render_timeline_page(const Timeline& timeline, const std::string& title,
                                               const std::vector<std::string>& findings,
                                               const std::vector<std::string>& remarks);

}  // namespace agentbox::provision
