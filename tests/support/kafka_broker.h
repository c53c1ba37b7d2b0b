#pragma once
#include <filesystem>
#include <string>

namespace millrace::support {

// A real broker of `scripts/kafka` with its own folder. Every call waits until the script has ended. If the
// script fails, the call throws std::runtime_error with the script's output. So a test without its broker
// fails; it is not skipped.
class KafkaBroker {
 public:
  explicit KafkaBroker(std::filesystem::path dir) : dir_(std::move(dir)) {}

  std::string start();  // HOST:PORT; unchanged after a restart
  void stop();
  void kill();  // SIGKILL
  void wipe();  // only while the broker is down

 private:
  std::filesystem::path dir_;
};

// The broker that all contract tests of this build folder share. Its address is $MILLRACE_TEST_KAFKA, else
// the content of `kafka-address` in the build folder, which ctest's fixture wrote. Without either, the call
// starts a broker, which keeps running for the next test.
std::string shared_kafka();

}  // namespace millrace::support
