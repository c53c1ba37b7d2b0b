#include "api/health_words.h"

#include <string_view>

namespace millrace::api {
namespace {

struct HealthWords {
  std::string_view means, what_to_do;
};

constexpr HealthWords health_words(HealthPart part) {
  switch (part) {
    case HealthPart::kStore:
      return {"The database that every job is kept in.",
              "No job is taken in until it can be written to again: continue or end the process that holds "
              "it (see the detail), and look whether the disk under it still writes."};
    case HealthPart::kDispatch:
      return {
          "How free workers hear of new jobs: inside this process, or by Kafka.",
          "No job is lost: workers look for jobs themselves and begin them a second or two later. See that "
          "Kafka runs and can be reached from here."};
    case HealthPart::kDisk:
      return {"Free room on the disk of the data directory.",
              "New jobs are refused until there is room: free some, or lower store.disk_free_min."};
  }
  return {};
}

}  // namespace

void add_health_words(schemas::JsonObject& out, HealthPart part, bool ok) {
  const HealthWords words = health_words(part);
  out.member("means", words.means);
  if (!ok) out.member("what_to_do", words.what_to_do);
}

}  // namespace millrace::api
