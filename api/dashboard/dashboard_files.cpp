#include "api/dashboard/dashboard_files.h"

#include <algorithm>

#include "api/handlers.h"
#include "api/headers.h"
#include "api/media/file_stream.h"

namespace millrace::api {
namespace {

constexpr std::string_view kPage = "index.html";
constexpr std::string_view kDocsPage = "docs.html";
// Scripts and styles load only from this server. Pictures may also be results of jobs or files that the user
// has dropped.
constexpr std::string_view kPolicy =
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; object-src 'none'; base-uri "
    "'none'; form-action 'none'; frame-ancestors 'none'";

const DashboardFile* find_file(std::string_view path) {
  const auto files = dashboard_files();
  const auto found = std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.path == path; });
  return found == files.end() ? nullptr : &*found;
}

// `no-cache`: browsers store the file and revalidate it by its ETag, so a new version appears at once.
void send_file(Call& call, const DashboardFile& file) {
  const bool unchanged = is_unchanged(call.head(), file.etag);
  front::Reply reply{.status = unchanged ? 304 : 200,
                     .content_type = std::string(unchanged ? std::string_view() : file.content_type),
                     .headers = {},
                     .body = unchanged ? std::string() : std::string(file.bytes)};
  add_header(reply, "etag", file.etag);
  add_header(reply, "cache-control", "no-cache");
  add_header(reply, "vary", "accept");
  add_header(reply, "content-security-policy", kPolicy);
  add_header(reply, "x-content-type-options", "nosniff");
  add_header(reply, "referrer-policy", "no-referrer");
  add_header(reply, "cross-origin-opener-policy", "same-origin");
  call.reply(std::move(reply));
}

}  // namespace

bool accepts_page(const front::Head& head) {
  return head.header("accept").value_or("").find("text/html") != std::string_view::npos;
}

void send_dashboard(Call& call) { send_file(call, *find_file(kPage)); }

void docs_page(Context&, CallPtr call) { send_file(*call, *find_file(kDocsPage)); }

void dashboard_file(Context&, CallPtr call) {
  const DashboardFile* file = find_file(call->params.front());
  if (file == nullptr)
    return call->fail(base::error(base::Code::kNotFound, "The dashboard has no such file"));
  send_file(*call, *file);
}

}  // namespace millrace::api
