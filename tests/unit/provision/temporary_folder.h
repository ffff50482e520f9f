// edge: a folder that goes away with its object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/handle.h"
#include "support/catch.h"

namespace agentbox::provision::sample {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::string base =
        std::filesystem::temp_directory_path().string() + "/agentbox-unit-XXXXXX";
    path_ = base;
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text, unsigned mode = 0600) const {
    REQUIRE(replace_file(*this / name, text, mode).ok());
    return *this / name;
  }

 private:
  std::string path_;
};

}  // namespace agentbox::provision::sample
