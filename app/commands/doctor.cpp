#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ai/engines/pool/engine_pool.h"
#include "api/admission/keys.h"
#include "app/commands/commands.h"
#include "app/commands/doctor_checks.h"
#include "app/commands/with_store.h"
#include "app/components/engine_children.h"
#include "app/components/host_lock.h"
#include "app/components/machine_component.h"
#include "app/components/ocr_component.h"
#include "app/components/speech_models.h"
#include "app/components/voice_models.h"
#include "app/config/settings.h"
#include "bus/kafka/kafka_dispatch.h"
#include "platform/base/bytes.h"
#include "platform/base/memory_size.h"
#include "platform/process/jail.h"
#include "storage/admin/inspection.h"
#include "storage/data_dir.h"
#include "storage/postgres/store.h"
#include "storage/s3/s3_blobs.h"

namespace millrace::app {
namespace {

constexpr std::chrono::seconds kKafkaWait{10};
constexpr rlim_t kFilesBesideConnections = 512;  // files for the store, blobs, engines and Kafka

constexpr std::int64_t kSlowStoreBytes = 1 << 30;  // a check of more is announced

constexpr std::string_view kMissingBeforeStart =
    "If you have the file as it was, put it back before the next start. The next start continues without "
    "these commits (docs/operations.md, Missing commits).";

std::string free_text(std::int64_t bytes) { return base::short_bytes(bytes) + " free"; }

// Prints one line per check. The worst result decides the exit code.
class Report {
 public:
  explicit Report(bool verbose) : verbose_(verbose) {}

  // `how` is for people who know the inside; it is printed with --verbose.
  void ok(const char* what, const std::string& finding, const std::string& how = {}) {
    line("ok", what, verbose_ && !how.empty() ? finding + " (" + how + ")" : finding);
  }
  void warn(const char* what, const std::string& detail, const std::string& advice) {
    line("warn", what, detail);
    hint(advice);
  }
  void fail(const char* what, const std::string& detail, const std::string& advice) {
    line("FAIL", what, detail);
    hint(advice);
    failed_ = true;
  }
  // `message`: the finding, then `; ` and what to do about it.
  void fail(const char* what, const std::string& message) {
    const std::size_t end = message.rfind("; ");
    std::string advice = end == std::string::npos ? std::string() : message.substr(end + 2) + ".";
    if (!advice.empty()) advice.front() = static_cast<char>(std::toupper(advice.front()));
    fail(what, message.substr(0, end), advice);
  }
  int exit_code() const { return failed_ ? cli::kFailed : cli::kOk; }

 private:
  static void line(const char* state, const char* what, const std::string& detail) {
    std::printf("%-5s %-9s %s\n", state, what, detail.c_str());
  }
  static void hint(const std::string& advice) {
    if (!advice.empty()) std::printf("                → %s\n", advice.c_str());
  }
  const bool verbose_;
  bool failed_ = false;
};

std::string schema_text(const storage::StoreInspection& found) {
  return "schema " + std::to_string(found.schema) + ", this millrace has " +
         std::to_string(found.newest_schema);
}

std::string store_text(const Settings& settings, const storage::StoreInspection& found) {
  std::string text = settings.data_dir + ", " + base::short_bytes(found.database_bytes) + ", " +
                     std::to_string(found.rows) + " requests and results are intact";
  if (found.log_bytes > 0)
    text += "; it was not closed: the next start recovers " + base::short_bytes(found.log_bytes) + " of log";
  return text;
}

std::string damage_text(const std::vector<std::string>& damage) {
  std::string text = "damaged: ";
  for (const std::string& each : damage) text += (&each == damage.data() ? "" : ", ") + each;
  return damage.size() == storage::kDamageMax ? text + " and more" : text;
}

void report_store(const Settings& settings, const storage::StoreInspection& found, Report& report) {
  if (!found.stuck_lock.empty()) {
    return report.fail("store", "the write lock is held by " + found.stuck_lock,
                       "End or resume that process.");
  }
  if (found.schema > found.newest_schema) {
    return report.fail("store", schema_text(found),
                       "Run the newer millrace, or restore a backup (docs/operations.md, Upgrade).");
  }
  if (!found.missing_commits.empty()) {
    return report.fail("store", found.missing_commits, std::string(kMissingBeforeStart));
  }
  if (!found.damage.empty()) {
    return report.fail("store", damage_text(found.damage),
                       "Run these jobs again and check the disk (docs/operations.md, A damaged row).");
  }
  if (found.noted_missing > 0) {
    return report.warn("store",
                       std::to_string(found.noted_missing) + " commits were missing at an earlier start: " +
                           settings.data_dir + "/missing-commits",
                       "Run the jobs of that time again or restore a newer backup, then remove that file "
                       "(docs/operations.md, Missing commits).");
  }
  found.schema == found.newest_schema
      ? report.ok("store", store_text(settings, found))
      : report.warn("store", schema_text(found), "The next start of `millrace` upgrades it.");
}

void check_postgres(const Settings& settings, Report& report) {
  const auto found = storage::inspect_postgres(settings.store_url);
  if (!found) return report.fail("store", found.error().message, "Correct store.url or the server.");
  const std::string text =
      "PostgreSQL " + found->server_version + ", schema " + std::to_string(found->schema);
  if (found->schema > found->newest_schema)
    return report.fail("store", text + ", this millrace has " + std::to_string(found->newest_schema),
                       "Run the newer millrace.");
  found->has_synchronous_standby
      ? report.ok("store", text + ", with a synchronous standby")
      : report.warn("store", text + ": no synchronous standby",
                    "If the server's disk is lost, accepted jobs are lost with it; set up a standby.");
}

// Changes nothing.
void check_store(const Settings& settings, Report& report) {
  if (!settings.store_url.empty()) return check_postgres(settings, report);
  if (!holds_store(settings.data_dir)) {
    return report.warn("store", settings.data_dir + ": there is no store yet",
                       "`millrace serve` creates it; --data sets another directory.");
  }
  const std::int64_t bytes = storage::file_bytes(storage::DataDir(settings.data_dir).database);
  if (bytes >= kSlowStoreBytes)
    std::cerr << "millrace: checking a store of " << base::short_bytes(bytes) << ", which may take minutes\n";
  const auto found = storage::inspect_store(settings.data_dir, blob_place(settings));
  if (!found) {
    report.fail("store", found.error().message);
    for (const std::string& problem : api::secret_file_problems(settings.data_dir, {}, false))
      report.fail("secrets", problem);
    return;
  }
  report_store(settings, *found, report);
  const auto problems = api::secret_file_problems(settings.data_dir, found->secret_checks, found->has_keys);
  for (const std::string& problem : problems) report.fail("secrets", problem);
  if (problems.empty() && found->has_keys)
    report.ok("secrets", "pepper and secret.key are those of this store");
  const bool is_low = found->disk_free_bytes >= 0 && found->disk_free_bytes < settings.disk_free_min_bytes;
  is_low ? report.fail("disk",
                       std::to_string(found->disk_free_bytes) + " bytes free; store.disk_free_min is " +
                           base::format_bytes(settings.disk_free_min_bytes),
                       "Free some disk, or lower store.disk_free_min.")
         : report.ok("disk", free_text(found->disk_free_bytes));
}

void check_blobs(const Settings& settings, Report& report) {
  if (!settings.blobs) return;
  const s3::BucketCheck found = s3::check_bucket(settings.blobs->location, settings.blobs->credentials);
  if (!found.reached)
    return report.fail("blobs", found.reached.error().message,
                       "Start the storage or correct blobs.endpoint.");
  found.accepted ? report.ok("blobs", "the bucket can be listed")
                 : report.fail("blobs", found.accepted.error().message, "Correct it.");
}

void check_kafka(const Settings& settings, Report& report) {
  if (settings.kafka_brokers.empty())
    return report.ok("kafka", "not used", "workers get their jobs inside this process or from the store");
  bus::KafkaDispatch::Options options;
  options.cluster = kafka_cluster(settings);
  bus::KafkaDispatch dispatch(options);
  if (const base::Status started = dispatch.start(); !started) {
    return report.fail("kafka", started.error().message, "Correct kafka.brokers.");
  }
  const auto until = std::chrono::steady_clock::now() + kKafkaWait;
  bus::HealthReport health = dispatch.health();
  while (health.health != bus::Health::kUp && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    health = dispatch.health();
  }
  health.health == bus::Health::kUp
      ? report.ok("kafka", "connected", health.detail)
      : report.warn("kafka", health.detail,
                    "Start the brokers or correct kafka.brokers; jobs are still accepted.");
}

void report_sandbox(const process::JailProbe& probe, Report& report) {
  if (!probe.usable) return report.fail("sandbox", probe.reason, probe.advice);
  switch (probe.confinement) {
    case process::Confinement::kNamespaces:
      return report.ok("sandbox", "documents and recordings are read in a sandbox",
                       "bubblewrap: no network, read-only system, own user and process namespace");
    case process::Confinement::kFileRules:
      return report.warn("sandbox",
                         "Landlock and seccomp: no network, system files are read-only (no namespaces: " +
                             probe.reason + ")",
                         probe.advice);
    case process::Confinement::kReduced:
      return report.warn("sandbox", "seccomp and limits alone: " + probe.reason, probe.advice);
  }
}

// What the models of one part of the installation showed; a part has one row.
struct ModelChecks {
  std::string works;   // comma-separated names
  std::string faults;  // "name: message", separated by "; "

  void add(const std::string& model, const base::Status& checked) {
    if (checked)
      works += (works.empty() ? "" : ", ") + model;
    else
      faults += (faults.empty() ? "" : "; ") + model + ": " + checked.error().message;
  }
};

void check_transcription_memory(const Settings& settings, Report& report) {
  const int slots = settings.slots.at(schemas::Kind::kStt);
  const std::int64_t each = transcription_bytes(settings.stt_memory_bytes);
  const std::int64_t needed = (slots + settings.reserved_slots(schemas::Kind::kStt)) * each;
  const std::int64_t memory = base::memory_size();
  if (needed <= memory) return;
  report.warn(
      "memory",
      std::to_string(slots) + " recordings at once need " + base::short_bytes(needed) + ", there are " +
          base::short_bytes(memory),
      "Set --slots stt=" + std::to_string(transcription_slots_max(memory, settings.stt_memory_bytes)) +
          ", or stt.engine to none.");
}

// Speaks a sentence with flite and each English voice of speech.models; of the others, only the files are
// checked.
void check_voices(const Settings& settings, engines::EnginePool& children, Report& report) {
  if (settings.speech_children == 0) return report.ok("speech", "off: speech.children is 0");
  ModelChecks checks{.works = "millrace/flite", .faults = ""};
  const VoiceModels voices(settings);
  for (const schemas::LocalVoiceModel& each : voices.listed().all()) {
    const auto voice = voices.find(each.name, "default");
    base::Status checked = voice ? base::Status() : base::Status(voice.error());
    if (voice && voice->is_english)
      if (const auto sound = speak_sentence(children, *voice); !sound) checked = sound.error();
    checks.add(each.name + (!voice || voice->is_english ? "" : " (files only)"), checked);
  }
  checks.faults.empty() ? report.ok("speech", "a sentence synthesised by " + checks.works)
                        : report.fail("speech", checks.faults,
                                      "Correct the row of speech.models or its files (docs/audio.md).");
}

// Transcribes the sentence with each local model.
void check_transcribers(const Settings& settings, engines::EnginePool& children, const std::string& sentence,
                        Report& report) {
  ModelChecks checks;
  const SpeechModels models(settings);
  const schemas::LocalTranscriptionModels known = local_transcription_models(settings);
  for (const schemas::LocalTranscriptionModel& each : known.all()) {
    const auto model = models.find(each.name);
    checks.add(each.name, model ? check_transcription(children, sentence, {*model, each.knows("en")})
                                : base::Status(model.error()));
  }
  if (!checks.faults.empty())
    return report.fail("stt", checks.faults,
                       "scripts/setup installs ffmpeg, PocketSphinx, the speech engine and their models; "
                       "other models are those of stt.models.");
  if (const base::Status usable = check_moonshine(settings); !usable)
    return report.warn("stt", "millrace/sphinx-en is the default model: " + usable.error().message,
                       "With PocketSphinx one word in four is wrong; docs/audio.md.");
  report.ok("stt", "a sentence transcribed by " + checks.works);
}

// Needs PocketSphinx alone, which is always there.
void check_speaker_models(const Settings& settings, engines::EnginePool& children,
                          const std::string& sentence, Report& report) {
  if (settings.speaker_files.empty()) return;
  auto how = SpeechModels(settings).find(std::string(schemas::kSphinxModel), true);
  if (how) how->options.speakers = engines::SpeakerTask::kTellApart;
  const base::Status found =
      how ? check_transcription(children, sentence, {*how, false}) : base::Status(how.error());
  found ? report.ok("speakers", "the voice of a sentence found by stt.speakers")
        : report.fail("speakers", found.error().message,
                      "Correct stt.speakers or its files; `millrace models pull speakers` fetches them "
                      "(docs/audio.md).");
}

void check_speech(const Settings& settings, engines::EnginePool& children, Report& report) {
  const auto sentence = speak_sentence(children);
  if (!sentence)
    return report.fail("speech", sentence.error().message,
                       "scripts/setup installs flite, libsndfile and vo-aacenc.");
  check_voices(settings, children, report);
  check_transcription_memory(settings, report);
  check_transcribers(settings, children, *sentence, report);
  check_speaker_models(settings, children, *sentence, report);
}

void check_engine(const Settings& settings, Report& report) {
  process::Spawner spawner;
  process::JailOptions jail;
  jail.unjailed = settings.ocr_unjailed;
  const process::JailProbe probe = process::Jail::probe(spawner, jail);
  report_sandbox(probe, report);
  if (!probe.usable) return;
  engines::EnginePool::Options options;
  options.jail = jail;
  options.jail.readable = SpeechModels(settings).files();
  const VoiceModels voices(settings);
  for (const std::string& folder : voices.folders()) options.jail.readable.push_back(folder);
  options.jail.limits.memory_bytes =
      static_cast<std::uint64_t>(std::max(settings.stt_memory_bytes, settings.speech_memory_bytes));
  options.engine_path = engine_program();
  options.children = 1;
  auto children = engines::EnginePool::make(spawner, options, probe.confinement);
  if (!children) return report.fail("engine", children.error().message, "Build it: scripts/build");
  const base::Status read = check_ocr(**children);
  read ? report.ok("engine", "millrace/ocr reads a page")
       : report.fail("engine", read.error().message,
                     "scripts/setup installs tesseract-ocr, its English data and poppler-utils.");
  const base::Status languages = check_ocr_languages(settings.ocr_languages);
  languages ? report.ok("languages", "scanned text in " + settings.ocr_languages)
            : report.fail("languages", languages.error().message,
                          "Install it, or remove the language from ocr.languages.");
  if (!std::filesystem::exists("/usr/share/poppler/cMap")) {
    report.warn("fonts",
                "poppler-data is missing: Chinese, Japanese and Korean text is lost if a document does not "
                "embed its fonts",
                "scripts/setup installs it.");
  }
  check_speech(settings, **children, report);
}

void report_facts(const schemas::MachineFacts& facts, Report& report) {
  facts.limits == "rlimits"
      ? report.warn("cgroups", "none: a machine's size limits each of its processes, not their sum",
                    "Run the gateway as root, or under systemd with Delegate=yes.")
      : report.ok("cgroups", "a machine's size limits all its processes together", facts.limits);
  facts.disk == "image"
      ? report.ok("disks", "each machine has a disk of its size", "disk images")
      : report.warn("disks", "folders: a command that exceeds its machine's disk size is stopped",
                    "As root, with loop devices and mkfs.ext4, disks are images of that size.");
}

void check_machines(const Settings& settings, Report& report) {
  if (!holds_store(settings.data_dir)) return report.ok("machines", "not tested before the first start");
  const MachineFindings found = probe_machines(settings);
  found.sandbox_off.empty()
      ? report.ok("machines", "commands run in a sandbox")
      : report.warn(
            "machines", found.sandbox_off,
            "Until then no command runs on machines of this host, and a start does not create `local`.");
  if (found.sandbox_off.empty()) report_facts(found.facts, report);
  if (const std::string holder = machines_holder(settings.data_dir); !holder.empty())
    report.ok("host lock", "a gateway runs the machines of this host", holder);
  found.ssh_off.empty()
      ? report.ok("ssh", "machines of other hosts can be reached", "driver ssh, with OpenSSH's client")
      : report.warn("ssh", found.ssh_off, "Until then no command runs on machines of driver ssh.");
  found.sshd_off.empty() ? report.ok("sshd", "machines of this host offer SSH sessions", "OpenSSH's server")
                         : report.warn("sshd", found.sshd_off,
                                       "Until then `millrace ssh` does not work for machines of this host.");
}

// A gateway can run with only the role `api`; then accepted jobs wait for a worker.
void check_workers(const Settings& settings, Report& report) {
  if (!holds_store(settings.data_dir)) return;
  const std::vector<std::string> live = live_workers(settings.data_dir);
  std::string names;
  for (const std::string& name : live) names += (names.empty() ? "" : ", ") + name;
  if (!live.empty()) {
    const std::string count = std::to_string(live.size());
    return report.ok("workers", count + (live.size() == 1 ? " runs" : " run") + " on this host", names);
  }
  if (!is_served(settings.data_dir)) return report.ok("workers", "none: no gateway is running here");
  report.warn("workers", "no worker runs here, but a gateway does: the jobs that it accepts wait",
              "Start one on this data directory: `millrace worker --data " + settings.data_dir + "`.");
}

void report_providers(const Settings& settings, Report& report) {
  const std::vector<ProviderFinding> found = check_providers(settings.models);
  if (found.empty()) {
    return report.ok("providers", "none: set a key such as OPENAI_API_KEY, or add the section `models`");
  }
  std::string details, advice;
  for (const ProviderFinding& each : found) {
    details.append(details.empty() ? "" : "; ").append(each.detail);
    if (advice.empty()) advice = each.advice;
  }
  advice.empty() ? report.ok("providers", details) : report.warn("providers", details, advice);
}

// Checks the hard limit, because the gateway raises its soft limit to it.
void check_limits(const Settings& settings, Report& report) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto connections = static_cast<rlim_t>(settings.http_connections_max);
  const rlim_t files_needed = connections + kFilesBesideConnections;
  const bool unlimited = files.rlim_max == RLIM_INFINITY;
  const std::string most = unlimited ? "unlimited" : std::to_string(files.rlim_max);
  const std::string detail =
      "open files that a server may use: " + most + ", required: " + std::to_string(files_needed);
  if (files.rlim_max >= files_needed) return report.ok("limits", "enough open files", detail);
  report.warn("limits",
              detail + " (http.connections_max " + std::to_string(connections) + " and " +
                  std::to_string(kFilesBesideConnections) + ")",
              "Raise the hard limit (LimitNOFILE, ulimit -Hn), or lower http.connections_max.");
}

void check_clock(Report& report) {
  const base::SystemClock clock;
  const std::string now = base::rfc3339(clock.wall());
  clock.wall() > base::wall_from(1'700'000'000'000)
      ? report.ok("clock", now)
      : report.fail("clock", now,
                    "The clock is years behind: deadlines and retention would be wrong. Set it.");
}

}  // namespace

int doctor(bool verbose, const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  Report report(verbose);
  for (const base::ConfigMistake& mistake : loaded.mistakes) {
    const std::string detail = mistake.place + ": " + mistake.message;
    mistake.fatal ? report.fail("config", detail, "`millrace config check` shows all of them.")
                  : report.warn("config", detail, "");
  }
  if (!loaded.settings) return report.exit_code();
  report.ok("config", loaded.file.empty() ? "no file; defaults, environment and flags" : loaded.file);
  check_store(*loaded.settings, report);
  check_blobs(*loaded.settings, report);
  check_kafka(*loaded.settings, report);
  check_engine(*loaded.settings, report);
  check_machines(*loaded.settings, report);
  check_workers(*loaded.settings, report);
  report_providers(*loaded.settings, report);
  check_limits(*loaded.settings, report);
  check_clock(report);
  return report.exit_code();
}

}  // namespace millrace::app
