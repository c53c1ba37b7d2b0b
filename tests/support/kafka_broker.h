#pragma once
#include <filesystem>
#include <string>

namespace millrace::support {

// A real broker of `scripts/kafka` with its own folder. Every call waits until it is done and throws
// std::runtime_error with the script's words if it fails: a test without its broker fails, it is not skipped.
class KafkaBroker {
 public:
  explicit KafkaBroker(std::filesystem::path dir) : dir_(std::move(dir)) {}

  std::string start();  // HOST:PORT; the same again after a restart
  void stop();
  void kill();  // -9
  void wipe();  // must be down

 private:
  std::string script(const std::string& verb) const;
  std::filesystem::path dir_;
};

// The broker that all contract tests of this build folder share: $MILLRACE_TEST_KAFKA, else what ctest's
// fixture wrote to `kafka-address` in the build folder, else one that is started here and stays for the next
// test.
std::string shared_kafka();

}  // namespace millrace::support
