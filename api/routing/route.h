#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "schemas/access.h"
#include "schemas/field.h"

namespace millrace::api {

struct Context;
class Call;
using CallPtr = std::shared_ptr<Call>;

enum class Method : std::uint8_t { kGet, kPost, kPatch, kDelete };
std::string_view name(Method method);

// Who may call a route.
enum class Access : std::uint8_t {
  kOpen,     // anybody
  kMetrics,  // anybody while the listener is bound to loopback, else the route's scope or admin
  kScope,    // a key with the route's scope
};

// Where a handler runs (docs/design/architecture.md §6).
enum class Lane : std::uint8_t {
  kFront,  // where the bytes arrived; never waits
  kPool,   // may block
  kBody,   // kFront for a body of at most kFrontBodyMax, else kPool's large lane
};
inline constexpr std::size_t kFrontBodyMax = 32 * 1024;

// What a route makes, for limits.concurrent_jobs.
enum class Makes : std::uint8_t {
  kNothing,
  kJob,
  kJobByKey,  // a request with an Idempotency-Key may join a job that is there already
};

enum class BodyKind : std::uint8_t {
  kNone,      // a body is read up to the limit and ignored
  kOptional,  // JSON, may be absent
  kJson,
  kForm,  // multipart/form-data: an Upload takes it as it arrives
};

// What the answers of a route have to do with a job, for the headers that they carry.
enum class JobReplies : std::uint8_t {
  kNone,
  kNamed,      // x-millrace-job
  kKeyed,      // and idempotent-replayed
  kReplayed,   // idempotent-replayed alone: the call makes no job
  kResult,     // and what the job has come to: a failure that it has stored is lasting (x-should-retry)
  kSubmitted,  // and idempotent-replayed, x-millrace-dropped-params
};

// One documented answer of a route beyond the statuses that every route has.
struct ReplyFacts {
  int status;
  std::string_view text;
  std::string_view content_type = {};  // empty: no content
  std::string_view schema = {};        // a name under components/schemas; empty: none
  std::string_view example = {};       // JSON
  std::string_view headers = {};       // that it carries beyond those of every answer, separated by spaces
};

// What the OpenAPI document says of a route beyond what the other columns say.
struct Operation {
  std::string_view id;  // never changes
  std::string_view tag;
  std::string_view summary;
  std::span<const ReplyFacts> replies;
  std::span<const schemas::Field> query = {};
  std::string_view headers = {};  // names under components/parameters, separated by spaces
  std::string_view body = {};     // a name under components/schemas
  bool state = false;             // a key or a state counts: 409
  JobReplies job = JobReplies::kNone;
  std::string_view about = {};  // more than the summary; markdown
};

// One row: routing, 405 and Allow, lanes, limits, /openapi.json and metric labels come from it. A pattern's
// `{name}` stands for one segment, `{name...}` at the end for the rest of the path.
struct Route {
  Method method;
  std::string_view pattern;
  Access access;
  schemas::Scope scope;  // for kScope and kMetrics
  BodyKind body;
  std::size_t body_max;
  Lane lane;
  void (*handler)(Context&, CallPtr);
  Operation operation;
  Makes makes = Makes::kNothing;
};

// Helpers that build rows of the route table.

inline constexpr std::size_t kSmallBody = 1u << 20;
inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kSse = "text/event-stream";

constexpr Route get(std::string_view pattern, schemas::Scope scope, Lane lane,
                    void (*handler)(Context&, CallPtr), Operation operation) {
  return {Method::kGet, pattern, Access::kScope, scope,    BodyKind::kNone,
          kSmallBody,   lane,    handler,        operation};
}

// A body that may be absent.
constexpr Route act(Method method, std::string_view pattern, schemas::Scope scope, Lane lane,
                    void (*handler)(Context&, CallPtr), Operation operation) {
  return {method, pattern, Access::kScope, scope, BodyKind::kOptional, kSmallBody, lane, handler, operation};
}

constexpr Route remove(std::string_view pattern, schemas::Scope scope, Lane lane,
                       void (*handler)(Context&, CallPtr), Operation operation) {
  return {Method::kDelete, pattern, Access::kScope, scope,    BodyKind::kNone,
          kSmallBody,      lane,    handler,        operation};
}

constexpr Route making(Makes makes, Route route) {
  route.makes = makes;
  return route;
}

// Headers that the answers of model endpoints carry.
inline constexpr std::string_view kModelHeaders =
    "x-millrace-model x-millrace-attempts x-millrace-dropped-params x-millrace-cost-usd";

// media_routes.cpp: what models do beside chats.
std::span<const Route> media_routes();

// media_routes.cpp: the files of the page at `/`.
std::span<const Route> dashboard_routes();

// admin_routes.cpp: all that is below /v1/admin.
std::span<const Route> admin_routes();

// audio_routes.cpp: text of recordings.
std::span<const Route> audio_routes();

// machine_routes.cpp: all that is below /v1/machines.
std::span<const Route> machine_routes();

}  // namespace millrace::api
