#pragma once
#include "app/commands/doctor_report.h"
#include "app/config/settings.h"

// The checks of `millrace doctor` of the store: the data directory, the database at store.url and its hosts,
// and the bucket at blobs.url. They change nothing.
namespace millrace::app {

void check_store(const Settings& settings, Report& report);
void check_blobs(const Settings& settings, Report& report);

}  // namespace millrace::app
