#include "tests/support/kafka_broker.h"

#include <cstdlib>

#include "tests/support/server_script.h"

namespace millrace::support {

std::string KafkaBroker::start() { return run_server_script("kafka", "start", dir_); }
void KafkaBroker::stop() { run_server_script("kafka", "stop", dir_); }
void KafkaBroker::kill() { run_server_script("kafka", "kill", dir_); }
void KafkaBroker::wipe() { run_server_script("kafka", "wipe", dir_); }

std::string shared_kafka() {
  if (const char* given = std::getenv("MILLRACE_TEST_KAFKA"); given != nullptr && *given != '\0')
    return given;
  const std::string address = fixture_line("kafka-address");
  return address.empty() ? KafkaBroker(build_folder() / "kafka").start() : address;
}

}  // namespace millrace::support
