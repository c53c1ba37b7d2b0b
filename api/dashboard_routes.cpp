#include <array>

#include "api/handlers.h"
#include "api/route_rows.h"

namespace millrace::api {
namespace {

constexpr std::string_view kFileHeaders =
    "etag cache-control vary content-security-policy x-content-type-options referrer-policy "
    "cross-origin-opener-policy";
constexpr std::array kDashboardReplies{
    ReplyFacts{200, "A script", "text/javascript", {}, {}, kFileHeaders},
    ReplyFacts{200, "A style sheet", "text/css"}, ReplyFacts{200, "A picture", "image/svg+xml"},
    ReplyFacts{200, "The page", "text/html"}, ReplyFacts{304, "As it was", {}, {}, {}, kFileHeaders}};
constexpr std::array kDocsReplies{ReplyFacts{200, "The page", "text/html", {}, {}, kFileHeaders},
                                  ReplyFacts{304, "As it was", {}, {}, {}, kFileHeaders}};

// clang-format off
const std::array kDashboardRoutes{
    Route{Method::kGet, "/docs", Access::kOpen, schemas::Scope::kAdmin, BodyKind::kNone, kSmallBody, Lane::kFront, &docs_page,
          {.id = "getDocs", .tag = "service", .summary = "This API to read, with a command for each call", .replies = kDocsReplies}},
    Route{Method::kGet, "/dashboard/{file}", Access::kOpen, schemas::Scope::kAdmin, BodyKind::kNone, kSmallBody, Lane::kFront,
          &dashboard_file,
          {.id = "getDashboardFile", .tag = "service", .summary = "A file of the dashboard, which `/` shows to browsers",
           .replies = kDashboardReplies}},
};
// clang-format on

}  // namespace

std::span<const Route> dashboard_routes() { return kDashboardRoutes; }

}  // namespace millrace::api
