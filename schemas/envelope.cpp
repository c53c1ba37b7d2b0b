#include "schemas/envelope.h"

#include <array>
#include <optional>
#include <utility>

#include "schemas/json/json.h"

namespace millrace::schemas {
namespace {

struct StatusName {
  JobStatus status;
  std::string_view name;
};
constexpr std::array kStatusNames = {
    StatusName{JobStatus::kQueued, "queued"},   StatusName{JobStatus::kRunning, "running"},
    StatusName{JobStatus::kWaiting, "waiting"}, StatusName{JobStatus::kSucceeded, "succeeded"},
    StatusName{JobStatus::kFailed, "failed"},   StatusName{JobStatus::kCancelled, "cancelled"},
    StatusName{JobStatus::kExpired, "expired"},
};

std::string_view wire_name(JobStatus status) {
  for (const StatusName& row : kStatusNames) {
    if (row.status == status) return row.name;
  }
  return {};
}

std::optional<JobStatus> status_named(std::string_view name) {
  for (const StatusName& row : kStatusNames) {
    if (row.name == name) return row.status;
  }
  return std::nullopt;
}

base::Result<std::string> written(const Json& envelope) {
  std::string text = envelope.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kEnvelopeBytesMax) {
    return base::error(base::Code::kTooLarge, "a message is above " + std::to_string(kEnvelopeBytesMax) +
                                                  " bytes: the tenant's name is too long");
  }
  return text;
}

// The fields of one received envelope. A reader returns nothing if the field is missing or has another type.
class Fields {
 public:
  explicit Fields(Json object) : object_(std::move(object)) {}

  std::optional<std::string> text(const char* key) const {
    const auto it = object_.find(key);
    if (it == object_.end() || !it->is_string()) return std::nullopt;
    return it->get<std::string>();
  }
  std::optional<std::int64_t> count(const char* key) const {
    const auto it = object_.find(key);
    if (it == object_.end() || !it->is_number_integer()) return std::nullopt;
    if (it->is_number_unsigned() && it->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    const auto value = it->get<std::int64_t>();
    return value < 0 ? std::nullopt : std::optional(value);
  }
  bool is_true(const char* key) const {
    const auto it = object_.find(key);
    return it != object_.end() && *it == true;
  }
  std::optional<JobId> job() const {
    const auto id = text("job");
    return id ? JobId::parse(*id) : std::nullopt;
  }

 private:
  Json object_;
};

Decoded<Fields> opened(std::string_view text) {
  if (text.size() > kEnvelopeBytesMax) return tl::make_unexpected(EnvelopeFault::kTooLarge);
  Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return tl::make_unexpected(EnvelopeFault::kMalformed);
  Fields fields(std::move(object));
  const auto version = fields.count("v");
  if (!version) return tl::make_unexpected(EnvelopeFault::kMalformed);
  if (*version != kEnvelopeVersion) return tl::make_unexpected(EnvelopeFault::kUnknownVersion);
  return fields;
}

}  // namespace

std::string_view name(EnvelopeFault fault) {
  switch (fault) {
    case EnvelopeFault::kUnknownVersion:
      return "unknown version";
    case EnvelopeFault::kMalformed:
      return "malformed";
    case EnvelopeFault::kTooLarge:
      return "too large";
  }
  return {};
}

base::Result<std::string> encode(const TokenEnvelope& token) {
  return written({{"v", kEnvelopeVersion},
                  {"job", token.job.str()},
                  {"kind", name(token.job.kind)},
                  {"epoch", token.epoch},
                  {"tenant", token.tenant}});
}

base::Result<std::string> encode(const JobChange& hint) {
  Json envelope = {{"v", kEnvelopeVersion},
                   {"job", hint.job.str()},
                   {"tenant", hint.tenant},
                   {"version", hint.version},
                   {"status", wire_name(hint.status)}};
  if (hint.waking) envelope["waking"] = true;
  if (hint.scheduled) envelope["scheduled"] = true;
  return written(envelope);
}

Decoded<TokenEnvelope> decode_token(std::string_view text) {
  const auto fields = opened(text);
  if (!fields) return tl::make_unexpected(fields.error());
  const auto job = fields->job();
  const auto epoch = fields->count("epoch");
  auto tenant = fields->text("tenant");
  if (!job || !epoch || !tenant) return tl::make_unexpected(EnvelopeFault::kMalformed);
  return TokenEnvelope{*job, *epoch, std::move(*tenant)};
}

Decoded<JobChange> decode_hint(std::string_view text) {
  const auto fields = opened(text);
  if (!fields) return tl::make_unexpected(fields.error());
  const auto job = fields->job();
  const auto version = fields->count("version");
  auto tenant = fields->text("tenant");
  const auto status = status_named(fields->text("status").value_or(""));
  if (!job || !version || !tenant || !status) return tl::make_unexpected(EnvelopeFault::kMalformed);
  return JobChange{*job,    std::move(*tenant),        *version,
                   *status, fields->is_true("waking"), fields->is_true("scheduled")};
}

}  // namespace millrace::schemas
