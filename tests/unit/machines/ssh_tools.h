#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machines/keys/public_key.h"
#include "platform/process/child.h"
#include "platform/process/spawner.h"
#include "tests/support/temp_dir.h"

namespace millrace::machines {

// Runs OpenSSH's tools in a folder of the test.
class SshTools : public testing::Test {
 protected:
  // Runs `words`, whose first word is a program in /usr/bin. Returns its exit and output.
  process::Captured ran(std::vector<std::string> words);
  // Runs `words`, which must succeed. Returns the standard output.
  std::string output_of(std::vector<std::string> words);
  // Creates a key pair in the folder. Returns the path of the private key.
  std::string key_file(const std::string& name, std::vector<std::string> kind);
  // The line of a .pub file without its line end.
  static std::string line_in(const std::string& path);
  // The output of `ssh-keygen -L` for a certificate.
  std::string shown(const std::string& certificate);

  support::TempDir dir_;
  process::Spawner spawner_;
};

std::string text_in(const std::string& path);

// Keys of every accepted type. ssh-keygen creates them, except the sk- keys, which are built from their
// fields.
std::vector<std::string> words_of_kind(const std::string& type);
std::string security_key_line(const std::string& type);

}  // namespace millrace::machines
