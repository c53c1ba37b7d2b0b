#pragma once
#include <string>

#include "schemas/machines/execution.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {

inline constexpr const char* kTrue = R"({"command":["true"]})";

// One machine with executions. The test acts as its worker.
class Executions : public Served {
 protected:
  void begin(Options options = {}) {
    start(std::move(options));
    id_ = machine();
    root_ = "/v1/machines/" + id_ + "/executions";
  }
  Answer create(const std::string& body = kTrue, std::string key = {}) {
    if (key.empty()) key = "k" + std::to_string(++keys_);
    return post(root_, body, "Idempotency-Key: " + key + "\r\n");
  }
  std::string make(const std::string& body = kTrue) {
    const Answer made = create(body);
    EXPECT_EQ(made.status, 200) << made.body;
    return made.json().value("execution_id", "");
  }
  nlohmann::json execution(const std::string& id) { return get(root_ + "/" + id).json(); }
  storage::Lease lease() { return claim(schemas::Kind::kExec)->lease; }
  storage::ReportResult out(const storage::Lease& lease, std::string_view bytes,
                            const char* stream = "stdout") {
    return append_events(lease, {{.type = stream, .data = schemas::output_event_data(bytes)}});
  }
  static std::string exit(int code, std::int64_t bytes = 0) {
    return schemas::to_json(schemas::ExecutionResult{.exit_code = code, .signal = {}, .stdout_bytes = bytes});
  }

  std::string id_, root_;
  int keys_ = 0;
};

}  // namespace millrace::api::test
