#include "schemas/jobs/sealed_spec.h"

#include <algorithm>
#include <utility>

#include "platform/base/crypto.h"
#include "schemas/chat/chat_request.h"
#include "schemas/jobs/job_name.h"
#include "schemas/json/json_text.h"
#include "schemas/json/url_text.h"

namespace millrace::schemas {
namespace {

// No other spec begins like this.
constexpr std::string_view kSealedStart = R"({"sealed":1,)";

std::string context_of(std::string_view tenant) { return "specs of " + std::string(tenant); }

// "://"; JSON may escape each slash, and JSON inside a string of JSON escapes that again.
bool has_url(std::string_view spec) {
  for (std::size_t at = 0; (at = spec.find(':', at)) != std::string_view::npos; ++at) {
    std::size_t slashes = 0, next = at + 1;
    for (; next < spec.size() && (spec[next] == '/' || spec[next] == '\\'); ++next)
      slashes += spec[next] == '/' ? 1 : 0;
    if (slashes >= 2) return true;
  }
  return false;
}

}  // namespace

bool may_hold_secrets(const ChatRequest& request, std::string_view spec) {
  return !request.unknown.empty() || has_url(spec);
}

bool is_sealed(std::string_view stored) { return stored.starts_with(kSealedStart); }

std::string seal_spec(std::string_view key, std::string_view tenant, Kind kind, std::string spec) {
  const std::string sealed = base::seal(key, context_of(tenant), spec);
  const std::string name = mask_url_queries(job_name(kind, std::move(spec)));
  std::string out = JsonObject().number("sealed", 1).member(kSealedName, name).finish();
  return out.append(1, '\0').append(sealed);
}

base::Result<std::string> open_spec(std::string_view key, std::string_view tenant, std::string stored) {
  if (!is_sealed(stored)) return stored;
  const std::string_view sealed =
      std::string_view(stored).substr(std::min(stored.find('\0'), stored.size() - 1) + 1);
  auto spec = base::unseal(key, context_of(tenant), sealed);
  if (spec) return *std::move(spec);
  base::Error error = base::error(
      base::Code::kInternal, "the job's request cannot be decrypted: the gateway's secret key has changed");
  error.is_permanent = true;
  return error;
}

}  // namespace millrace::schemas
