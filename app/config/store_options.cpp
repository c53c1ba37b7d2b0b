#include "app/config/store_options.h"

#include "app/config/blob_settings.h"
#include "app/config/quota_defaults.h"

namespace millrace::app {

storage::Store::Options store_options(const Settings& settings) {
  storage::Store::Options options;
  options.url = settings.store_url;
  options.data_dir = settings.data_dir;
  if (!settings.store_url.empty()) options.host = settings.host_name;
  options.secrets_dir = settings.secrets_dir;
  options.open_blobs = blob_opener(settings.blobs);
  options.blob_place = blob_place(settings);
  options.outbox = !settings.kafka_brokers.empty();
  options.queue_max = static_cast<std::size_t>(settings.store_queue_max);
  options.wal_max_bytes = settings.wal_max_bytes;
  options.disk_free_min_bytes = settings.disk_free_min_bytes;
  options.result_age = settings.retention_results;
  options.job_age = settings.retention_jobs;
  options.public_url = settings.public_url;
  options.quota_defaults = quota_defaults(settings, host_size(settings.data_dir));
  return options;
}

storage::BlobPlace blob_place(const Settings& settings) {
  return settings.blobs ? storage::BlobPlace::kElsewhere : storage::BlobPlace::kDataDir;
}

}  // namespace millrace::app
