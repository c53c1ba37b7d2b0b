#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "platform/base/result.h"
#include "schemas/jobs/job.h"

// The messages in Kafka and in NOTIFY: JSON objects with a version, `{"v":1, …}`. A reader ignores unknown
// fields and skips an envelope of an unknown version (EnvelopeFault::kUnknownVersion). Nothing is lost,
// because the store has the same data, so old and new processes can run side by side (docs/design/delivery.md
// §4).
namespace millrace::schemas {

inline constexpr int kEnvelopeVersion = 1;
inline constexpr std::size_t kEnvelopeBytesMax = 4096;  // only the tenant's name varies much in size

// `{"v":1,"job":"ocr-…","kind":"ocr","epoch":3,"tenant":"default"}`
struct TokenEnvelope {
  JobId job;
  std::int64_t epoch = 0;
  std::string tenant;
  friend bool operator==(const TokenEnvelope&, const TokenEnvelope&) = default;
};

enum class EnvelopeFault { kUnknownVersion, kMalformed, kTooLarge };
std::string_view name(EnvelopeFault fault);
template <class T>
using Decoded = tl::expected<T, EnvelopeFault>;

// kTooLarge: above kEnvelopeBytesMax. Bytes of the tenant's name that are not UTF-8 are replaced.
base::Result<std::string> encode(const TokenEnvelope& token);
// `{"v":1,"job":"ocr-…","tenant":"default","version":4,"status":"running"}`; unlike in the API, `waiting` is
// a status. A job that is queued until its machine is awake has `"waking":true`, until
// its run_at `"scheduled":true`.
base::Result<std::string> encode(const JobChange& hint);

// Never throws. A field that is missing, of another type or out of range is kMalformed.
Decoded<TokenEnvelope> decode_token(std::string_view json);
Decoded<JobChange> decode_hint(std::string_view json);

}  // namespace millrace::schemas
