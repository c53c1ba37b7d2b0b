#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machines/keys/public_key.h"
#include "platform/process/child.h"
#include "platform/process/spawner.h"
#include "tests/support/temp_dir.h"

namespace millrace::machines {

// OpenSSH's own tools over a folder of the test's.
class SshTools : public testing::Test {
 protected:
  // Its end and output; `words[0]` is a program of /usr/bin.
  process::Captured ran(std::vector<std::string> words);
  // Its standard output; it must end well.
  std::string output_of(std::vector<std::string> words);
  // A new pair in the folder: the path of its private half.
  std::string key_file(const std::string& name, std::vector<std::string> kind);
  // The line of a .pub file, without its end.
  static std::string line_in(const std::string& path);
  // What `ssh-keygen -L` says of a certificate.
  std::string shown(const std::string& certificate);

  support::TempDir dir_;
  process::Spawner spawner_;
};

std::string text_in(const std::string& path);

// Keys of every kind that is taken, made by ssh-keygen or, the sk- ones, from their fields.
std::vector<std::string> words_of_kind(const std::string& type);
std::string security_key_line(const std::string& type);

}  // namespace millrace::machines
