#pragma once
#include <filesystem>
#include <string>
#include <utility>

namespace millrace::support {

// A real S3 server of `scripts/s3` with its own folder; otherwise like KafkaBroker.
class S3Server {
 public:
  explicit S3Server(std::filesystem::path dir) : dir_(std::move(dir)) {}

  std::string start();  // its URL; unchanged after a restart
  void stop();
  void kill();   // SIGKILL
  void pause();  // SIGSTOP: it takes connections but answers nothing, until `kill`

 private:
  std::filesystem::path dir_;
};

// The URL of the server that all tests of this build folder share: the content of `s3-url` in the build
// folder, which ctest's fixture wrote. Without it, the call starts a server, which keeps running for the next
// test.
std::string shared_s3();

// What `scripts/s3` sets up.
inline constexpr const char* kS3Bucket = "millrace";
inline constexpr const char* kS3AccessKey = "millrace-test";
inline constexpr const char* kS3SecretKey = "millrace-test-secret";

}  // namespace millrace::support
