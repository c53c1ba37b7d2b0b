#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "api/route.h"

// How rows of the route table are written.
namespace millrace::api {

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

// dashboard_routes.cpp: the files of the page at `/`.
std::span<const Route> dashboard_routes();

// admin_routes.cpp: all that is below /v1/admin.
std::span<const Route> admin_routes();

// audio_routes.cpp: text of recordings.
std::span<const Route> audio_routes();

// machine_routes.cpp: all that is below /v1/machines.
std::span<const Route> machine_routes();

}  // namespace millrace::api
