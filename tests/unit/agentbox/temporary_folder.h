// edge: a folder of one test's own, gone with it, and small helpers to look into it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace agentbox::test {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& below = "/tmp") {
    path_ = below + "/agentbox-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      std::abort();
    }
    path_ = std::filesystem::canonical(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string at(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

 private:
  std::string path_;
};

inline void put_file(const std::string& path, std::string_view content, mode_t mode = 0644) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  { std::ofstream(path, std::ios::binary | std::ios::trunc) << content; }
  ::chmod(path.c_str(), mode);
}

inline std::string file_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline mode_t mode_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
}

inline std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

}  // namespace agentbox::test
