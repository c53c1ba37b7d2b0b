#include "api/admin/health_texts.h"

#include <string_view>

namespace millrace::api {
namespace {

struct HealthTexts {
  std::string_view means, what_to_do;
};

constexpr HealthTexts health_texts(HealthPart part) {
  switch (part) {
    case HealthPart::kStore:
      return {
          "The database that stores all jobs.",
          "New jobs are rejected until the database is writable again. The detail says what it waits for: "
          "a process that locks it (resume or end it), its disk, or PostgreSQL and its standby."};
    case HealthPart::kDispatch:
      return {"How idle workers are notified of new jobs: inside this process, or through Kafka.",
              "No job is lost: workers poll for jobs and start them a second or two later. Check that Kafka "
              "runs and is reachable from this host."};
    case HealthPart::kDisk:
      return {"Free space on the disk of the data directory.",
              "New jobs are rejected until there is space: free some, or lower store.disk_free_min."};
  }
  return {};
}

}  // namespace

void add_health_texts(schemas::JsonObject& out, HealthPart part, bool ok) {
  const HealthTexts words = health_texts(part);
  out.member("means", words.means);
  if (!ok) out.member("what_to_do", words.what_to_do);
}

}  // namespace millrace::api
