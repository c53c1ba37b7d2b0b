#include "schemas/jobs/job.h"

#include <algorithm>

namespace millrace::schemas {
namespace {

struct KindNames {
  Kind kind;
  std::string_view name, prefix;
};
constexpr std::array kKindNames{
    KindNames{Kind::kOcr, "ocr", "ocr-"},          KindNames{Kind::kExec, "exec", "exec-"},
    KindNames{Kind::kMachine, "machine", "mach-"}, KindNames{Kind::kChat, "chat", "chat-"},
    KindNames{Kind::kStt, "stt", "stt-"},
};
static_assert(kKindNames.size() == kKinds.size(), "one row per kind");

const KindNames& names(Kind kind) {
  return *std::find_if(kKindNames.begin(), kKindNames.end(),
                       [&](const KindNames& n) { return n.kind == kind; });
}

constexpr std::string_view kWaking = "wake_in_progress";
constexpr std::string_view kScheduled = "scheduled";
constexpr std::array<std::string_view, 8> kPublicNames = {"queued",    "running", "succeeded", "failed",
                                                          "cancelled", "expired", kWaking,     kScheduled};

}  // namespace

std::string_view name(Kind kind) { return names(kind).name; }
std::string_view prefix(Kind kind) { return names(kind).prefix; }

std::optional<Kind> kind_named(std::string_view name) {
  for (const auto& n : kKindNames) {
    if (n.name == name) return n.kind;
  }
  return std::nullopt;
}

std::string JobId::str() const {
  constexpr std::size_t kBytes = 48;
  std::string out;
  out.reserve(kBytes);
  uuid.append_to(out += prefix(kind));
  return out;
}

std::optional<JobId> JobId::parse(std::string_view text) {
  for (const auto& n : kKindNames) {
    if (!text.starts_with(n.prefix)) continue;
    const auto uuid = base::Uuid::parse(text.substr(n.prefix.size()));
    if (uuid) return JobId{n.kind, *uuid};
  }
  return std::nullopt;
}

std::string_view public_name(JobStatus status) {
  switch (status) {
    case JobStatus::kQueued:
      return kPublicNames[0];
    case JobStatus::kRunning:
    case JobStatus::kWaiting:
      return kPublicNames[1];
    case JobStatus::kSucceeded:
      return kPublicNames[2];
    case JobStatus::kFailed:
      return kPublicNames[3];
    case JobStatus::kCancelled:
      return kPublicNames[4];
    case JobStatus::kExpired:
      return kPublicNames[5];
  }
  return {};
}

std::string_view public_status(JobStatus status, bool waking, bool scheduled) {
  if (scheduled) return kScheduled;
  return waking ? kWaking : public_name(status);
}
std::string_view public_status(const JobView& job) {
  return public_status(job.status, job.waking, job.scheduled);
}

std::optional<std::string_view> known_status(std::string_view name) {
  const auto* found = std::find(kPublicNames.begin(), kPublicNames.end(), name);
  if (found == kPublicNames.end()) return std::nullopt;
  return *found;
}

}  // namespace millrace::schemas
