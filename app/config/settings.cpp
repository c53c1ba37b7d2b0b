#include "app/config/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <unistd.h>

#include "app/components/ocr_component.h"
#include "app/config/machines_section.h"
#include "app/config/models_section.h"
#include "app/config/section_map.h"
#include "app/config/speech_models_section.h"
#include "app/config/voice_models_section.h"
#include "app/config/webhook_settings.h"
#include "platform/base/memory_size.h"
#include "schemas/machines/machine.h"
#include "workers/jobs/worker_lock.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)
namespace millrace::app {
namespace {

std::string from(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

bool readable(const std::string& path) { return !path.empty() && ::access(path.c_str(), R_OK) == 0; }

// The configuration file to read: the named one, else the first default path that exists.
std::string choose_file(const std::map<std::string, std::string>& flags,
                        const std::map<std::string, std::string>& env) {
  if (std::string named = from(flags, "config"); !named.empty()) return named;
  if (std::string named = from(env, "MILLRACE_CONFIG"); !named.empty()) return named;
  std::string data = from(flags, "data");
  if (data.empty()) data = from(env, "MILLRACE_DATA");
  if (data.empty()) data = default_data_dir();
  for (const std::string& path : {data + "/millrace.yaml", std::string("/etc/millrace/millrace.yaml")}) {
    if (readable(path)) return path;
  }
  return {};
}

constexpr int kSlotsMax = 1024;
constexpr int kExecSlots = 4;
constexpr std::int64_t kUsualTranscriptionLimit = std::int64_t{1} << 30;  // default of stt.memory
constexpr std::int64_t kTranscriptionBytes = std::int64_t{700} << 20;     // of one process, with Moonshine
constexpr int kChatSlots = 64;                                            // they mostly wait for providers
constexpr int kMachineSlotsDefault = 16;  // concurrent operations; each is a thread that mostly waits
constexpr std::string_view kDataFlag = "--data";
constexpr std::string_view kMachines = "machines";
constexpr std::string_view kSpeechModels = "stt.models", kVoiceModels = "speech.models";
constexpr std::string_view kModels = "models", kProviders = "providers", kAliases = "aliases", kMcp = "mcp";

bool parse_count(std::string_view text, int& count) {
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, count) == std::from_chars_result{end, std::errc{}} && count >= 1 &&
         count <= kSlotsMax;
}

// Parses "4" for every kind and "ocr=2" for one kind, which takes precedence. Default: the number of cores
// (recordings: no more than fit into memory), four commands, and 64 completions.
std::map<schemas::Kind, int> parse_slots(const std::vector<std::string>& items,
                                         std::vector<base::ConfigMistake>& mistakes,
                                         const std::string& origin, std::int64_t stt_memory_bytes) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  int every = 0;  // not specified
  std::map<schemas::Kind, int> slots;
  for (const std::string& item : items) {
    const std::string_view text = item;
    const std::size_t equals = text.find('=');
    const bool bare = equals == std::string_view::npos;
    const auto kind = schemas::kind_named(text.substr(0, equals));
    int count = 0;
    if ((!bare && (!kind || *kind == schemas::Kind::kMachine)) ||
        !parse_count(bare ? text : text.substr(equals + 1), count)) {
      mistakes.push_back(
          {origin,
           "slots: \"" + item +
               "\" is not COUNT, for every kind, or KIND=COUNT with a known kind (ocr, stt, exec, chat), "
               "of 1 to 1024"});
    } else {
      (bare ? every : slots[*kind]) = count;
    }
  }
  slots.emplace(schemas::Kind::kMachine, kMachineSlotsDefault);
  if (every == 0) slots.emplace(schemas::Kind::kExec, kExecSlots);
  if (every == 0) slots.emplace(schemas::Kind::kChat, kChatSlots);
  if (every == 0)
    slots.emplace(schemas::Kind::kStt,
                  std::min(cores, transcription_slots_max(base::memory_size(), stt_memory_bytes)));
  for (const schemas::Kind kind : schemas::kKinds) slots.emplace(kind, every == 0 ? cores : every);
  return slots;
}

base::LogLevel level_named(const std::string& name) {
  if (name == "debug") return base::LogLevel::kDebug;
  if (name == "warn") return base::LogLevel::kWarn;
  return name == "error" ? base::LogLevel::kError : base::LogLevel::kInfo;
}

base::LogFormat log_format(const base::Config& config) {
  if (!config.is_set("log.format"))
    return ::isatty(STDERR_FILENO) ? base::LogFormat::kText : base::LogFormat::kJson;
  return config.text("log.format") == "text" ? base::LogFormat::kText : base::LogFormat::kJson;
}

bool is_address(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  return ::inet_pton(AF_INET, text.c_str(), &v4) == 1 || ::inet_pton(AF_INET6, text.c_str(), &v6) == 1;
}

void read_ssh(const base::Config& config, Settings& s, std::vector<base::ConfigMistake>& mistakes) {
  s.ssh_listen = config.text("ssh.listen");
  if (!is_address(s.ssh_listen)) {
    mistakes.push_back({config.origin("ssh.listen"), "ssh.listen: \"" + s.ssh_listen +
                                                         "\" is not an address such as 127.0.0.1, without "
                                                         "a port"});
  }
  s.ssh_public_host = config.text("ssh.public_host");
  if (!s.ssh_public_host.empty() && !base::is_host(s.ssh_public_host)) {
    mistakes.push_back({config.origin("ssh.public_host"), "ssh.public_host: \"" + s.ssh_public_host +
                                                              "\" is not a host name or address, without "
                                                              "a port"});
  }
  s.ssh_lifetime = config.duration("ssh.session_lifetime");
}

void read_metrics_listen(const base::Config& config, Settings& s,
                         std::vector<base::ConfigMistake>& mistakes) {
  if (!config.is_set("metrics.listen")) return;
  auto address = base::parse_net_address(config.text("metrics.listen"));
  if (!address) {
    mistakes.push_back({config.origin("metrics.listen"), "metrics.listen: " + address.error().message});
  } else {
    s.metrics_listen = *std::move(address);
  }
}

// SCHEME://HOST[:PORT] as browsers send it.
bool is_origin(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.starts_with(scheme)) return base::parse_net_address(text.substr(scheme.size()), 0).has_value();
  }
  return text == "*";
}

// The host name of this machine, also without its domain.
void add_own_names(std::vector<std::string>& names) {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return;
  const std::string full = name.data();
  names.push_back(full);
  if (full.find('.') != std::string::npos) names.push_back(full.substr(0, full.find('.')));
}

std::string host_of_url(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return {};
  const std::string_view authority = std::string_view(url).substr(scheme + 3);
  const auto address = base::parse_net_address(authority.substr(0, authority.find('/')), 0);
  return address ? address->host : std::string();
}

void read_http_access(const base::Config& config, Settings& s, std::vector<base::ConfigMistake>& mistakes) {
  const auto refuse = [&](const std::string& path, const std::string& item, const char* what) {
    mistakes.push_back({config.origin(path), path + ": \"" + item + "\" is not " + what});
  };
  for (const std::string& name : config.list("http.hosts")) {
    if (!base::is_host(name)) refuse("http.hosts", name, "a host name, without a port");
    s.http_hosts.push_back(name);
  }
  s.http_hosts.push_back(s.listen.host);
  if (s.metrics_listen) s.http_hosts.push_back(s.metrics_listen->host);
  if (const std::string host = host_of_url(s.public_url); !host.empty()) s.http_hosts.push_back(host);
  add_own_names(s.http_hosts);
  s.http_cors_origins = config.list("http.cors_origins");
  for (const std::string& origin : s.http_cors_origins) {
    if (!is_origin(origin))
      refuse("http.cors_origins", origin, "an origin such as https://app.example.com, or *");
  }
  for (const std::string& proxy : config.list("http.trusted_proxies")) {
    if (const auto range = base::IpRange::parse(proxy)) {
      s.http_trusted_proxies.push_back(*range);
    } else {
      refuse("http.trusted_proxies", proxy, "an address or a range such as 10.0.0.0/8");
    }
  }
  s.http_forwarded = config.text("http.forwarded_header") == "forwarded";
  s.metrics_open = config.boolean("metrics.open");
}

void read_ocr(const base::Config& config, Settings& s, std::vector<base::ConfigMistake>& mistakes) {
  s.ocr_range_pages = static_cast<int>(config.integer("ocr.range_pages"));
  if (auto languages = ocr_languages(config.list("ocr.languages"))) {
    s.ocr_languages = *std::move(languages);
  } else {
    mistakes.push_back({config.origin("ocr.languages"), "ocr.languages: " + languages.error().message});
  }
  s.ocr_wait = config.duration("ocr.wait");
  s.ocr_page_timeout = config.duration("ocr.page_timeout");
  s.ocr_engine_time = config.duration("ocr.engine_time");
  s.ocr_reply_max_bytes = config.bytes("ocr.reply_max");
  s.ocr_unjailed = config.boolean("ocr.unjailed");
  s.ocr_idle = config.duration("ocr.idle");
}

void read_audio(const base::Config& config, Settings& s, std::vector<base::ConfigMistake>& mistakes) {
  s.stt_range_pieces = static_cast<int>(config.integer("stt.range_pieces"));
  s.stt_engine = config.text("stt.engine");
  s.stt_memory_bytes = config.bytes("stt.memory");
  s.speaker_files = read_speaker_files(config, mistakes);
  s.speech_memory_bytes = config.bytes("speech.memory");
  s.stt_wait = config.duration("stt.wait");
  s.stt_duration_max = config.duration("stt.duration_max");
  s.stt_engine_time = config.duration("stt.engine_time");
  s.stt_idle = config.duration("stt.idle");
  s.speech_children = static_cast<int>(config.integer("speech.children"));
  s.picture_children = static_cast<int>(config.integer("pictures.children"));
  s.pictures_per_tenant = static_cast<int>(config.integer("pictures.per_tenant"));
}

void read_chat(const base::Config& config, Settings& s) {
  s.chat_timeouts = {.connect = config.duration("chat.connect_timeout"),
                     .first_byte = config.duration("chat.first_byte_timeout"),
                     .idle = config.duration("chat.idle_timeout"),
                     .total = config.duration("chat.total_timeout")};
  s.chat_tries = static_cast<int>(config.integer("chat.tries"));
  s.chat_retry_after_max = config.duration("chat.retry_after_max");
  s.chat_heartbeat = config.duration("chat.heartbeat");
  s.chat_model_list_age = config.duration("chat.model_list_age");
  s.chat_tool_list_age = config.duration("chat.tool_list_age");
}

void sort_by_line(std::vector<base::ConfigMistake>& mistakes, const std::string& file) {
  std::ranges::stable_sort(mistakes, {},
                           [&](const auto& mistake) { return place_line(mistake.place, file); });
}

// Checks values that are valid alone but not together.
void compare(const base::Config& config, const Settings& s, std::vector<base::ConfigMistake>& mistakes) {
  const auto refuse = [&](const char* path, const char* why) {
    mistakes.push_back({config.origin(path), std::string(path) + " must not be " + why});
  };
  if (s.retention_jobs < s.retention_results) refuse("retention.jobs", "shorter than retention.results");
  if (s.http_reply_budget_bytes < s.ocr_reply_max_bytes)
    refuse("http.reply_budget", "smaller than ocr.reply_max");
  if (s.stt_engine == kNoSpeechEngine && !s.speaker_files.empty())
    mistakes.push_back({config.origin("stt.speakers.segmentation"),
                        "stt.speakers has no effect with stt.engine: none; remove one of them", false});
  if (s.disk_free_min_bytes < s.wal_max_bytes)
    refuse("store.disk_free_min", "smaller than store.wal_max: running jobs need that space to end");
}

std::string host_name(const base::Config& config, std::vector<base::ConfigMistake>& mistakes) {
  if (!config.is_set("host.name")) return workers::host_name();
  std::string name = config.text("host.name");
  const bool is_plain = std::ranges::all_of(name, [](unsigned char c) {
    return (std::isalnum(c) != 0 && c < 0x80) || c == '.' || c == '_' || c == '-';
  });
  if (name.empty() || name.size() > schemas::kHostNameMax || !is_plain)
    mistakes.push_back({config.origin("host.name"), "host.name: must be 1 to 253 of A-Z a-z 0-9 . _ -"});
  return name;
}

std::string store_url(const base::Config& config, std::vector<base::ConfigMistake>& mistakes) {
  std::string url = config.text("store.url");
  if (!url.empty() && !url.starts_with("postgresql://") && !url.starts_with("postgres://"))
    mistakes.push_back({config.origin("store.url"), "store.url: must begin with postgresql://"});
  return url;
}

void read_store(const base::Config& config, Settings& s, std::vector<base::ConfigMistake>& mistakes) {
  s.store_url = store_url(config, mistakes);
  s.secrets_dir = config.text("secrets.dir").empty() ? s.data_dir : config.text("secrets.dir");
  s.wal_max_bytes = config.bytes("store.wal_max");
  s.disk_free_min_bytes = config.bytes("store.disk_free_min");
  s.store_queue_max = static_cast<int>(config.integer("store.queue_max"));
  s.retention_results = config.duration("retention.results");
  s.retention_jobs = config.duration("retention.jobs");
  s.retention_orphans = config.duration("retention.orphans");
}

schemas::BatchLimits batch_limits(const base::Config& config) {
  return {.open_max = static_cast<int>(config.integer("batches.open_max")),
          .lines_max = static_cast<int>(config.integer("batches.lines")),
          .input_bytes_max = config.bytes("batches.input_bytes"),
          .line_bytes_max = config.bytes("batches.line_bytes"),
          .window = static_cast<int>(config.integer("batches.window")),
          .direct = static_cast<int>(config.integer("batches.direct")),
          .age = config.duration("retention.batches")};
}

Settings typed(const base::Config& config, std::vector<base::ConfigMistake>& mistakes) {
  Settings s;
  s.data_dir = config.is_set("data") ? config.text("data") : default_data_dir();
  if (config.origin("data") == kDataFlag && config.text("data").empty())
    mistakes.push_back(
        {std::string(kDataFlag), "data: \"\" is no folder; without the flag it is " + s.data_dir});
  if (auto address = base::parse_net_address(config.text("listen"))) {
    s.listen = *std::move(address);
  } else {
    mistakes.push_back({config.origin("listen"), "listen: " + address.error().message});
  }
  s.public_url = config.text("public_url");
  while (s.public_url.ends_with('/')) s.public_url.pop_back();
  s.ready_file = config.text("ready_file");
  for (const std::string& broker : config.list("kafka.brokers")) {
    if (auto address = base::parse_net_address(broker); !address) {
      mistakes.push_back({config.origin("kafka.brokers"), "kafka.brokers: " + address.error().message});
    }
  }
  s.kafka_brokers = config.list("kafka.brokers");
  s.kafka_partitions = static_cast<int>(config.integer("kafka.partitions"));
  s.kafka_message_timeout = config.duration("kafka.message_timeout");
  s.slots = parse_slots(config.list("slots"), mistakes, config.origin("slots"), config.bytes("stt.memory"));
  s.host_name = host_name(config, mistakes);
  s.worker_name = config.text("worker.name");
  s.fetch_allow_hosts = config.list("fetch.allow_hosts");
  s.log_format = log_format(config);
  s.log_level = level_named(config.text("log.level"));
  read_store(config, s, mistakes);
  read_webhook_settings(config, s, mistakes);
  s.jobs_run_at_max = config.duration("jobs.run_at_max");
  s.batches = batch_limits(config);
  s.http_threads = static_cast<int>(config.integer("http.threads"));
  s.http_idle_poll = std::chrono::microseconds(config.integer("http.idle_poll_us"));
  s.http_body_timeout = config.duration("http.body_timeout");
  s.http_connections_max = static_cast<int>(config.integer("http.connections_max"));
  s.streams_per_key = static_cast<int>(config.integer("http.streams_per_key"));
  s.http_body_budget_bytes = config.bytes("http.body_budget");
  s.http_reply_budget_bytes = config.bytes("http.reply_budget");
  s.http_original_request_max_bytes = config.bytes("http.asked_max");
  read_metrics_listen(config, s, mistakes);
  read_http_access(config, s, mistakes);
  s.requests_per_minute = static_cast<int>(config.integer("limits.requests_per_minute"));
  s.concurrent_jobs = static_cast<int>(config.integer("limits.concurrent_jobs"));
  s.failed_keys_per_minute = static_cast<int>(config.integer("limits.failed_keys_per_minute"));
  s.single_tenant = config.boolean("limits.single_tenant");
  read_ocr(config, s, mistakes);
  s.exec_output_max_bytes = config.bytes("exec.output_max");
  s.exec_output_grace = config.duration("exec.output_grace");
  s.drain_timeout = config.duration("drain.timeout");
  read_audio(config, s, mistakes);
  read_ssh(config, s, mistakes);
  read_chat(config, s);
  compare(config, s, mistakes);
  return s;
}

void add_models(const std::map<std::string, std::string>& environment, Settings& settings,
                LoadedSettings& out) {
  const base::Config& config = out.config;
  SpeechModelsSection speech = read_speech_models(config.section(kSpeechModels));
  VoiceModelsSection voices = read_voice_models(config.section(kVoiceModels));
  LocalRows speech_rows{std::string(kSpeechModels), {}, speech.places};
  LocalRows voice_rows{std::string(kVoiceModels), {}, voices.places};
  for (const engines::SpeechModel& model : speech.models) speech_rows.names.push_back(model.name);
  for (const engines::VoiceModel& voice : voices.models) voice_rows.names.push_back(voice.name);
  std::vector<std::string> local_models = speech_rows.names;
  local_models.insert(local_models.end(), voice_rows.names.begin(), voice_rows.names.end());
  const ModelNodes nodes{config.section(kModels), config.section(kProviders), config.section(kAliases),
                         config.section(kMcp),    config.boolean("mock"),     local_models};
  ModelsSection models = read_models(nodes, environment, settings.chat_timeouts);
  check_local_model_names(speech_rows, models.settings, models.places, speech.mistakes);
  check_local_model_names(voice_rows, models.settings, models.places, voices.mistakes);
  check_same_names(voice_rows, speech_rows, voices.mistakes);
  out.mistakes.insert(out.mistakes.end(), models.mistakes.begin(), models.mistakes.end());
  out.mistakes.insert(out.mistakes.end(), speech.mistakes.begin(), speech.mistakes.end());
  out.mistakes.insert(out.mistakes.end(), voices.mistakes.begin(), voices.mistakes.end());
  out.voice_model_places = std::move(voices.places);
  settings.voice_models = std::move(voices.models);
  out.speech_model_places = std::move(speech.places);
  settings.speech_models = std::move(speech.models);
  out.model_places = std::move(models.places);
  settings.models = std::move(models.settings);
  settings.models.default_image_model = config.text("images.default_model");
}

base::Result<Settings> usable_settings(const std::map<std::string, std::string>& flags) {
  LoadedSettings loaded = load_settings(flags);
  if (loaded.settings) return *std::move(loaded.settings);
  std::string summary;
  for (const base::ConfigMistake& mistake : loaded.mistakes) {
    if (mistake.fatal) summary += (summary.empty() ? "" : "; ") + mistake.place + ": " + mistake.message;
  }
  return base::error(base::Code::kInvalidField, summary);
}

}  // namespace

std::int64_t transcription_bytes(std::int64_t stt_memory_bytes) {
  return stt_memory_bytes > kUsualTranscriptionLimit ? stt_memory_bytes : kTranscriptionBytes;
}

int transcription_slots_max(std::int64_t memory_bytes, std::int64_t stt_memory_bytes) {
  const std::int64_t processes = memory_bytes / 4 * 3 / transcription_bytes(stt_memory_bytes);
  return static_cast<int>(std::clamp<std::int64_t>(processes - 1, 1, kSlotsMax));
}

// Commands cannot be interrupted, so as many as slots. A job in a reserved slot of ocr or stt may need one
// more engine.
int Settings::reserved_slots(schemas::Kind kind) const {
  switch (kind) {
    case schemas::Kind::kOcr:
    case schemas::Kind::kStt:
      return 1;
    case schemas::Kind::kChat:
      return std::max(1, slots.at(kind) / 4);
    case schemas::Kind::kExec:
    case schemas::Kind::kMachine:
      return slots.at(kind);
  }
  return 0;
}

std::string default_data_dir() {
  if (::geteuid() == 0) return "/var/lib/millrace";
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  return std::string(home != nullptr ? home : ".") + "/.local/share/millrace";
}

bus::KafkaCluster kafka_cluster(const Settings& settings) {
  bus::KafkaCluster cluster;
  cluster.brokers = settings.kafka_brokers;
  cluster.partitions = settings.kafka_partitions;
  cluster.message_timeout = settings.kafka_message_timeout;
  return cluster;
}

LoadedSettings load_settings(const std::map<std::string, std::string>& flags) {
  LoadedSettings out;
  base::ConfigSources sources;
  sources.environment = environment();
  sources.flags = flags;
  sources.flags.erase("config");
  sources.sections = {kMachines, kModels, kProviders, kAliases, kMcp, kSpeechModels, kVoiceModels};
  sources.other_variables = {"MILLRACE_CONFIG", "MILLRACE_URL",   "MILLRACE_API_KEY",
                             "MILLRACE_TRY",    "MILLRACE_BUILD", "MILLRACE_CHAT_HISTORY"};
  out.file = choose_file(flags, sources.environment);
  if (!out.file.empty()) {
    std::ifstream file(out.file);
    if (file) {
      sources.file_name = out.file;
      sources.file_text.resize(base::kConfigBytesMax + 1);  // one more: `Config::read` refuses a longer file
      file.read(sources.file_text.data(), static_cast<std::streamsize>(sources.file_text.size()));
      sources.file_text.resize(static_cast<std::size_t>(file.gcount()));
    } else {
      out.mistakes.push_back({out.file, "the configuration file cannot be read"});
    }
  }
  out.config = base::Config::read(settings_table(), sources);
  out.mistakes.insert(out.mistakes.end(), out.config.mistakes().begin(), out.config.mistakes().end());
  Settings settings = typed(out.config, out.mistakes);
  settings.blobs = read_blob_settings(out.config, KeySource(sources.environment), out.mistakes);
  MachinesSection machines = read_machines(out.config.section(kMachines));
  out.mistakes.insert(out.mistakes.end(), machines.mistakes.begin(), machines.mistakes.end());
  out.machine_places = std::move(machines.places);
  settings.machines = std::move(machines.machines);
  add_models(sources.environment, settings, out);
  sort_by_line(out.mistakes, out.file);
  const bool fatal =
      std::any_of(out.mistakes.begin(), out.mistakes.end(), [](const auto& m) { return m.fatal; });
  if (!fatal) out.settings = std::move(settings);
  return out;
}

base::Result<inference::ModelSettings> models_from_file(const std::map<std::string, std::string>& flags) {
  auto settings = usable_settings(flags);
  if (!settings) return settings.error();
  return std::move(settings->models);
}

base::Result<std::vector<schemas::Machine>> machines_from_file(
    const std::map<std::string, std::string>& flags) {
  auto settings = usable_settings(flags);
  if (!settings) return settings.error();
  return std::move(settings->machines);
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace millrace::app
