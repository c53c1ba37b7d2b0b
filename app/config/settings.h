#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/speech/speaker_files.h"
#include "ai/engines/speech/speech_model.h"
#include "ai/engines/speech/voice_files.h"
#include "ai/inference/routing/registry.h"
#include "app/config/blob_settings.h"
#include "bus/kafka/kafka_settings.h"
#include "platform/base/config.h"
#include "platform/base/ip_address.h"
#include "platform/base/log.h"
#include "platform/base/net_address.h"
#include "platform/base/result.h"
#include "schemas/batches/batch_limits.h"
#include "schemas/jobs/job.h"
#include "schemas/machines/machine.h"

namespace millrace::app {

// Every setting of the gateway: path, type, default, bounds, help. Flag, environment variable, YAML key,
// `config check` and `--help` are derived from a row.
std::span<const base::Setting> settings_table();

inline constexpr std::string_view kNoSpeechEngine = "none";  // stt.engine

// The settings, typed, after the checks that involve several settings.
struct Settings {
  std::string data_dir;
  base::NetAddress listen;
  std::string public_url;                  // without a trailing slash; empty: the listener's
  std::string ready_file;                  // empty: none
  std::vector<std::string> kafka_brokers;  // empty: embedded dispatch
  int kafka_partitions = 8;
  std::chrono::milliseconds kafka_message_timeout{};
  std::map<schemas::Kind, int> slots;
  // Slots beyond these for tenants that run no job of the kind (docs/adr/0044).
  int reserved_slots(schemas::Kind kind) const;
  std::string host_name;    // among the hosts of store.url; the system's by default
  std::string worker_name;  // empty: <host>-<first free n>
  std::vector<std::string> fetch_allow_hosts;
  base::LogFormat log_format = base::LogFormat::kJson;
  base::LogLevel log_level = base::LogLevel::kInfo;
  std::string store_url;              // of PostgreSQL; empty: SQLite in data_dir
  std::optional<BlobSettings> blobs;  // in S3; empty: files in data_dir
  std::string secrets_dir;            // of the pepper, secret.key and ca; data_dir by default
  std::int64_t wal_max_bytes = 0, disk_free_min_bytes = 0;
  int store_queue_max = 0;
  std::chrono::milliseconds retention_results{}, retention_jobs{}, retention_orphans{};
  std::chrono::milliseconds jobs_run_at_max{};
  schemas::BatchLimits batches;
  std::vector<std::string> webhook_hosts;  // may be private, and use http
  int webhooks_per_tenant = 0;
  std::chrono::milliseconds webhook_timeout{}, webhook_rotation{}, webhook_retention{};
  std::vector<std::chrono::milliseconds> webhook_retries;
  int http_threads = 1, http_connections_max = 0, streams_per_key = 0;
  std::chrono::microseconds http_idle_poll{0};
  std::chrono::milliseconds http_body_timeout{};
  std::vector<std::string>
      http_hosts;  // all names by which clients may address the gateway, besides localhost
  std::vector<std::string> http_cors_origins;
  std::vector<base::IpRange> http_trusted_proxies;
  bool http_forwarded = false;  // trusted proxies name the client in Forwarded, not in X-Forwarded-For
  bool metrics_open = false;
  std::int64_t http_body_budget_bytes = 0, http_reply_budget_bytes = 0, http_original_request_max_bytes = 0;
  std::optional<base::NetAddress> metrics_listen;    // absent: no separate listener
  int requests_per_minute = 0, concurrent_jobs = 0;  // per API key; 0: no limit
  int failed_keys_per_minute = 20;                   // per client address; 0: no limit
  bool single_tenant = false;                        // no default limits of tenants
  int ocr_range_pages = 8;
  std::int64_t ocr_reply_max_bytes = 0;
  std::string ocr_languages = "eng";  // in Tesseract's form: eng+deu
  bool ocr_unjailed = false;
  int speech_children = 0;
  int picture_children = 0, pictures_per_tenant = 0;
  int stt_range_pieces = 8;
  std::string stt_engine;  // its folder; empty: beside the program; kNoSpeechEngine: none
  std::int64_t stt_memory_bytes = 0;
  std::vector<engines::SpeechModel> speech_models;  // of the section stt.models, in its order
  engines::SpeakerFiles speaker_files;              // stt.speakers; empty: speakers are not told apart
  std::int64_t speech_memory_bytes = 0;
  std::vector<engines::VoiceModel> voice_models;  // of the section speech.models, in its order
  std::chrono::milliseconds stt_wait{}, stt_duration_max{}, stt_engine_time{}, stt_idle{};
  std::int64_t exec_output_max_bytes = 0;
  std::chrono::milliseconds exec_output_grace{0};
  std::chrono::milliseconds ocr_wait{}, ocr_page_timeout{}, ocr_engine_time{}, ocr_idle{};
  std::chrono::milliseconds drain_timeout{};
  inference::ModelSettings models;  // from the file, the environment and `mock`
  providers::Target::Timeouts chat_timeouts{};
  int chat_tries = 3;
  std::chrono::milliseconds chat_retry_after_max{}, chat_heartbeat{}, chat_model_list_age{},
      chat_tool_list_age{};
  std::vector<schemas::Machine> machines;  // from the file, in its order; source kFile
  // The address on which the sshd of sandboxed machines listens.
  std::string ssh_listen = "127.0.0.1";
  // The host that clients connect to; empty: ssh_listen.
  std::string ssh_public_host;
  std::chrono::milliseconds ssh_lifetime{900'000};  // lifetime of a session's certificate
};

// Reads file, environment and flags. `flags`: by name without dashes; "config" names the file. Mistakes are
// in `mistakes`; `settings` is set only if the configuration is usable.
struct LoadedSettings {
  base::Config config;
  std::string file;  // the file that was read; empty: none
  std::optional<Settings> settings;
  // All mistakes: those of the file by line, then the others.
  std::vector<base::ConfigMistake> mistakes;
  std::vector<std::string> machine_places;       // where each of settings.machines is defined in the file
  std::vector<std::string> model_places;         // the same for settings.models.models
  std::vector<std::string> speech_model_places;  // and for settings.speech_models
  std::vector<std::string> voice_model_places;   // and for settings.voice_models
};
LoadedSettings load_settings(const std::map<std::string, std::string>& flags);

// Reads the file's machines again (SIGHUP), with the same flags and environment. kInvalidField: lists every
// mistake of the configuration with its place; nothing is applied then.
base::Result<std::vector<schemas::Machine>> machines_from_file(
    const std::map<std::string, std::string>& flags);

// The same for models and their keys.
base::Result<inference::ModelSettings> models_from_file(const std::map<std::string, std::string>& flags);

bus::KafkaCluster kafka_cluster(const Settings& settings);

// What a transcribing process may use: 700 MB, as Moonshine needs, or stt.memory if it was raised for a
// larger model.
std::int64_t transcription_bytes(std::int64_t stt_memory_bytes);
// The default number of slots for recordings: as many transcribing processes as fit into three quarters of
// the memory, without the one that may run beyond the slots; at least 1.
int transcription_slots_max(std::int64_t memory_bytes, std::int64_t stt_memory_bytes);

// The default data directory for commands that need nothing else: ~/.local/share/millrace, for root
// /var/lib/millrace.
std::string default_data_dir();

// The environment variables at the start of the program. Do not call while another thread sets one.
std::map<std::string, std::string> environment();

}  // namespace millrace::app
