// test/io/files.hpp — a directory for the files of a test, and the bytes of files.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../catch.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

namespace test {

/// A directory that is removed with its contents.
struct directory {
  std::string path;
  std::vector<std::string> files;

  directory() {
    path = "/tmp/ebb-io-" + std::string(6, 'X');  // the part that mkdtemp replaces
    REQUIRE(mkdtemp(path.data()) != nullptr);
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() {
    for (const auto& file : files) std::remove(file.c_str());
    rmdir(path.c_str());
  }
  std::string file(const char* name) {
    files.push_back(path + "/" + name);
    return files.back();
  }
  std::string holding(const char* name, const std::string& bytes) {
    const std::string path_to = file(name);
    std::FILE* f = std::fopen(path_to.c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), f);
    std::fclose(f);
    return path_to;
  }
};

inline std::string bytes_of(const std::string& path) {
  std::string bytes;
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) return "no file";
  for (int c; (c = std::fgetc(f)) != EOF;) bytes += static_cast<char>(c);
  std::fclose(f);
  return bytes;
}

}  // namespace test
