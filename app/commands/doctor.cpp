#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ai/engines/pool/engine_pool.h"
#include "api/admission/keys.h"
#include "app/commands/commands.h"
#include "app/commands/doctor_checks.h"
#include "app/commands/doctor_report.h"
#include "app/commands/doctor_store.h"
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
#include "storage/data_dir.h"

namespace millrace::app {
namespace {

constexpr std::chrono::seconds kKafkaWait{10};
constexpr rlim_t kFilesBesideConnections = 512;  // files for the store, blobs, engines and Kafka

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
  if (!settings.store_url.empty())
    return report.ok("workers", "none on this host; `GET /v1/admin/workers` lists those of all hosts");
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
