#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ai/inference/routing/registry.h"
#include "bus/kafka/kafka_settings.h"
#include "platform/base/config.h"
#include "platform/base/log.h"
#include "platform/base/net_address.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"
#include "schemas/machines/machine.h"

namespace millrace::app {

// Every setting of the gateway, once: path, type, default, bounds, help. Flag, environment variable, YAML
// key, `config check` and `--help` follow from a row.
std::span<const base::Setting> settings_table();

// The settings as the composition takes them: typed, combined rules checked.
struct Settings {
  std::string data_dir;
  base::NetAddress listen;
  std::string public_url;                  // without a trailing slash; empty: the listener's
  std::string ready_file;                  // empty: none
  std::vector<std::string> kafka_brokers;  // empty: embedded dispatch
  int kafka_partitions = 8;
  std::chrono::milliseconds kafka_message_timeout{};
  std::map<schemas::Kind, int> slots;
  std::string worker_name;  // empty: <hostname>-<first free n>
  std::vector<std::string> fetch_allow_hosts;
  base::LogFormat log_format = base::LogFormat::kJson;
  base::LogLevel log_level = base::LogLevel::kInfo;
  std::int64_t wal_max_bytes = 0, disk_free_min_bytes = 0;
  int store_queue_max = 0;
  std::chrono::milliseconds retention_results{}, retention_jobs{}, retention_orphans{};
  int http_threads = 1, http_connections_max = 0;
  std::chrono::microseconds http_idle_poll{0};
  std::int64_t http_body_budget_bytes = 0, http_reply_budget_bytes = 0, http_asked_max_bytes = 0;
  std::optional<base::NetAddress> metrics_listen;    // absent: no listener of their own
  int requests_per_minute = 0, concurrent_jobs = 0;  // per API key; 0: no limit
  int ocr_range_pages = 8;
  std::int64_t ocr_reply_max_bytes = 0;
  std::string ocr_languages = "eng";  // as Tesseract writes several: eng+deu
  bool ocr_unjailed = false;
  int speech_children = 0;
  int picture_children = 0, pictures_per_tenant = 0;
  int stt_range_pieces = 4;
  std::chrono::milliseconds stt_wait{}, stt_duration_max{}, stt_idle{};
  std::int64_t exec_output_max_bytes = 0;
  std::chrono::milliseconds ocr_wait{}, ocr_page_timeout{}, ocr_idle{};
  std::chrono::milliseconds drain_timeout{};
  inference::ModelSettings models;  // of the file and the environment, and `mock`
  providers::Target::Timeouts chat_timeouts{};
  int chat_tries = 3;
  std::chrono::milliseconds chat_retry_after_max{}, chat_heartbeat{}, chat_model_list_age{},
      chat_tool_list_age{};
  std::vector<schemas::Machine> machines;           // of the file, in its order: source kFile
  std::string ssh_listen = "127.0.0.1";             // an address: where the machines' own sshd listens
  std::string ssh_public_host;                      // what clients connect to; empty: ssh_listen
  std::chrono::milliseconds ssh_lifetime{900'000};  // of a session's certificate
};

// Reads file, environment and flags. `flags`: by name without dashes; "config" names the file. The mistakes
// are in the Config; Settings are only there when it is usable.
struct LoadedSettings {
  base::Config config;
  std::string file;  // that was read; empty: none
  std::optional<Settings> settings;
  std::vector<base::ConfigMistake> mistakes;  // all there are: the file's by their lines, then the others
  std::vector<std::string> machine_places;    // where each of settings.machines stands in the file
  std::vector<std::string> model_places;      // and each of settings.models.models
};
LoadedSettings load_settings(const std::map<std::string, std::string>& flags);

// The machines of the file that `flags` and the environment lead to, read anew (SIGHUP). kInvalidField:
// every mistake of the configuration, with its place; then nothing of it counts.
base::Result<std::vector<schemas::Machine>> machines_from_file(
    const std::map<std::string, std::string>& flags);

// The same for what it says of models, and their keys.
base::Result<inference::ModelSettings> models_from_file(const std::map<std::string, std::string>& flags);

bus::KafkaCluster kafka_cluster(const Settings& settings);

// The data directory by the same precedence, for commands that only need that: default
// ~/.local/share/millrace, as root /var/lib/millrace.
std::string default_data_dir();

// The variables that the program was started with, by name. Not beside a thread that sets one.
std::map<std::string, std::string> environment();

}  // namespace millrace::app
