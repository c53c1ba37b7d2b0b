#pragma once
#include <span>
#include <string_view>

#include "api/call.h"

// The dashboard: the files of dashboard/, embedded when the program is built (cmake/dashboard.cmake).
namespace millrace::api {

struct DashboardFile {
  std::string_view path;  // below /dashboard/
  std::string_view content_type;
  std::string_view etag;  // its SHA-256, in quotes
  std::string_view bytes;
};

std::span<const DashboardFile> dashboard_files();

// True if the client prefers HTML to JSON: its Accept header names text/html.
bool accepts_page(const front::Head& head);
// Sends the dashboard page; never blocks.
void send_dashboard(Call& call);

}  // namespace millrace::api
