// pure: see file_types.h.
#include "agentbox/file_types.h"

#include <algorithm>
#include <array>

namespace agentbox::mcp {
namespace {

struct FileType {
  std::string_view name;
  // Separated by spaces; one that starts with a dot is an ending, another one a whole name.
  std::string_view endings;
};

constexpr std::array<FileType, 38> kTypes = {{
    {"asm", ".asm .s .S"},
    {"c", ".c .h"},
    {"cmake", ".cmake CMakeLists.txt"},
    {"config", ".cfg .conf .config .ini"},
    {"cpp", ".cc .cpp .cxx .c++ .h .hh .hpp .hxx .inl"},
    {"cs", ".cs"},
    {"css", ".css .scss .sass .less"},
    {"csv", ".csv .tsv"},
    {"dart", ".dart"},
    {"docker", "Dockerfile Containerfile .dockerfile"},
    {"elixir", ".ex .exs"},
    {"erlang", ".erl .hrl"},
    {"go", ".go"},
    {"haskell", ".hs .lhs"},
    {"html", ".html .htm"},
    {"java", ".java"},
    {"js", ".js .jsx .mjs .cjs .vue"},
    {"json", ".json .jsonl .json5"},
    {"kotlin", ".kt .kts"},
    {"log", ".log"},
    {"lua", ".lua"},
    {"make", "Makefile makefile GNUmakefile .mk .mak"},
    {"md", ".md .markdown .mdx"},
    {"perl", ".pl .pm .t"},
    {"php", ".php"},
    {"proto", ".proto"},
    {"py", ".py .pyi"},
    {"r", ".r .R .Rmd"},
    {"ruby", ".rb .rake Gemfile Rakefile"},
    {"rust", ".rs"},
    {"sh", ".sh .bash .zsh .ksh"},
    {"sql", ".sql"},
    {"swift", ".swift"},
    {"toml", ".toml"},
    {"ts", ".ts .tsx .mts .cts"},
    {"txt", ".txt .rst .adoc"},
    {"xml", ".xml .xsd .xsl .svg"},
    {"yaml", ".yaml .yml"},
}};

const FileType* find_type(std::string_view name) {
  const auto* const at = std::find_if(kTypes.begin(), kTypes.end(),
                                      [&](const FileType& type) { return type.name == name; });
  return at == kTypes.end() ? nullptr : at;
}

}  // namespace

bool is_file_type(std::string_view type) { return find_type(type) != nullptr; }

bool is_of_type(std::string_view name, std::string_view type) {
  const FileType* known = find_type(type);
  if (known == nullptr) {
    return false;
  }
  for (std::string_view rest = known->endings; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view ending = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (ending.starts_with('.') ? name.ends_with(ending) : name == ending) {
      return true;
    }
  }
  return false;
}

std::string file_type_names() {
  std::string names;
  for (const FileType& type : kTypes) {
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  return names;
}

}  // namespace agentbox::mcp
