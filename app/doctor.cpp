#include <chrono>
#include <cstdio>
#include <future>
#include <iostream>
#include <string>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ai/engines/ocr_engine.h"
#include "app/commands.h"
#include "app/data_dir.h"
#include "app/engine_program.h"
#include "app/machine_room.h"
#include "app/settings.h"
#include "bus/kafka_dispatch.h"
#include "platform/base/bytes.h"
#include "platform/process/jail.h"
#include "storage/store.h"

namespace millrace::app {
namespace {

// A page with one word, which the engine must read: the whole way from here through the jail and back.
constexpr std::string_view kProbeDocument =
    "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    "2 0 obj\n<< /Type /Pages /Count 1 /Kids [3 0 R] >>\nendobj\n"
    "3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 100] /Contents 4 0 R /Resources << /Font << "
    "/F1 << /Type "
    "/Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>\nendobj\n"
    "4 0 obj\n<< /Length 58 >>\nstream\nBT /F1 24 Tf 20 40 Td (Millrace doctor reads this) Tj ET "
    "\nendstream\nendobj\n"
    "trailer\n<< /Size 5 /Root 1 0 R >>\n%%EOF\n";
constexpr std::chrono::seconds kEngineWait{30};
constexpr std::chrono::seconds kKafkaWait{10};
constexpr rlim_t kFilesBesideConnections = 512;  // store, blobs, engines, Kafka

// One line per check; the worst decides the exit code.
class Report {
 public:
  void ok(const char* what, const std::string& detail) { line("ok", what, detail); }
  void warn(const char* what, const std::string& detail, const std::string& advice) {
    line("warn", what, detail);
    hint(advice);
  }
  void fail(const char* what, const std::string& detail, const std::string& advice) {
    line("FAIL", what, detail);
    hint(advice);
    failed_ = true;
  }
  int exit_code() const { return failed_ ? kExitFailed : kExitOk; }

 private:
  static void line(const char* state, const char* what, const std::string& detail) {
    std::printf("%-5s %-9s %s\n", state, what, detail.c_str());
  }
  static void hint(const std::string& advice) {
    if (!advice.empty()) std::printf("                → %s\n", advice.c_str());
  }
  bool failed_ = false;
};

void check_store(const Settings& settings, Report& report) {
  const base::SystemClock clock;
  storage::Store::Options options;
  options.data_dir = settings.data_dir;
  options.disk_free_min_bytes = settings.disk_free_min_bytes;
  if (!holds_store(settings.data_dir)) {
    return report.warn("store", settings.data_dir + ": no store here yet",
                       "`millrace serve` makes it; --data names another directory.");
  }
  auto store = storage::Store::open(options, clock);
  if (!store)
    return report.fail("store", store.error().message,
                       "Name another folder with --data, or make it writable.");
  const storage::Store::Health health = (*store)->health();
  const std::string where = settings.data_dir + ", " + base::format_bytes((*store)->stats().db_bytes);
  health.store_ok ? report.ok("store", where)
                  : report.fail("store", health.store_detail, "End or resume that process.");
  health.disk_ok ? report.ok("disk", base::format_bytes((*store)->stats().disk_free_bytes) + " free")
                 : report.fail("disk", health.disk_detail, "Free some disk, or lower store.disk_free_min.");
}

void check_kafka(const Settings& settings, Report& report) {
  if (settings.kafka_brokers.empty()) return report.ok("kafka", "not configured: dispatch is embedded");
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
      ? report.ok("kafka", health.detail)
      : report.warn("kafka", health.detail,
                    "Start the brokers or correct kafka.brokers; jobs are accepted meanwhile.");
}

process::Fd probe_file() {
  process::Fd fd(::memfd_create("doctor", MFD_CLOEXEC));
  static_cast<void>(!::write(fd.get(), kProbeDocument.data(), kProbeDocument.size()));
  return fd;
}

// Reads the probe document; the error says what stood in the way.
base::Status read_probe(engines::OcrEngine& engine) {
  auto document = engines::Document::from(probe_file());
  if (!document) return document.error();
  auto markdown = std::make_shared<std::string>();
  auto end = std::make_shared<std::promise<base::Status>>();
  auto ended = end->get_future();
  const auto ticket = engine.recognise(
      *document, {0}, {}, [markdown](engines::PageOutcome page) { *markdown += page.markdown; },
      [end](const engines::EngineEnd&) { end->set_value({}); });
  if (!ticket) return ticket.error();
  if (ended.wait_for(kEngineWait) != std::future_status::ready) {
    ticket->cancel();
    return base::error(base::Code::kPageTimeout, "the engine did not answer within 30 s");
  }
  if (markdown->find("Millrace doctor") != std::string::npos) return {};
  return base::error(base::Code::kPageFailed,
                     "the engine read \"" + *markdown + "\" where a known line stands");
}

void report_sandbox(const process::JailProbe& probe, Report& report) {
  if (!probe.usable) return report.fail("sandbox", probe.reason, probe.advice);
  switch (probe.confinement) {
    case process::Confinement::kNamespaces:
      return report.ok("sandbox", "bubblewrap: no network, read-only system, own user and process namespace");
    case process::Confinement::kFileRules:
      return report.ok(
          "sandbox",
          "Landlock and seccomp: no network, reads the system's files, writes none (no namespaces: " +
              probe.reason + ")");
    case process::Confinement::kReduced:
      return report.warn("sandbox", "seccomp and limits alone: " + probe.reason, probe.advice);
  }
}

void check_engine(const Settings& settings, Report& report) {
  process::Spawner spawner;
  process::JailOptions jail;
  jail.unjailed = settings.ocr_unjailed;
  const process::JailProbe probe = process::Jail::probe(spawner, jail);
  report_sandbox(probe, report);
  if (!probe.usable) return;
  engines::OcrEngine::Options options;
  options.jail = jail;
  options.engine_path = engine_program();
  options.children = 1;
  auto engine = engines::OcrEngine::make(spawner, options, probe.confinement);
  if (!engine) return report.fail("engine", engine.error().message, "Build it: scripts/build");
  const base::Status read = read_probe(**engine);
  read ? report.ok("engine", "millrace/ocr reads a page")
       : report.fail("engine", read.error().message,
                     "scripts/setup installs tesseract-ocr, its English data and poppler-utils.");
}

// What serving takes is the hard limit: the soft one is raised to it.
// The trial needs the folder in which machines live; doctor makes none.
void check_machines(const Settings& settings, Report& report) {
  if (!holds_store(settings.data_dir)) return report.ok("machines", "not tried before the first start");
  const auto room = MachineRoom::open(settings);
  room ? report.ok("machines", "commands run in a sandbox")
       : report.warn("machines", room.error().message, "Until then executions are off.");
}

void check_limits(const Settings& settings, Report& report) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto connections = static_cast<rlim_t>(settings.http_connections_max);
  const rlim_t wanted = connections + kFilesBesideConnections;
  const bool unlimited = files.rlim_max == RLIM_INFINITY;
  const std::string most = unlimited ? "unlimited" : std::to_string(files.rlim_max);
  const std::string detail = "open files while serving: " + most + ", wanted: " + std::to_string(wanted);
  if (files.rlim_max >= wanted) return report.ok("limits", detail);
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

int doctor(const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  Report report;
  for (const base::ConfigMistake& mistake : loaded.mistakes) {
    const std::string detail = mistake.place + ": " + mistake.message;
    mistake.fatal ? report.fail("config", detail, "`millrace config check` shows the rest.")
                  : report.warn("config", detail, "");
  }
  if (!loaded.settings) return report.exit_code();
  report.ok("config", loaded.file.empty() ? "no file; defaults, environment and flags" : loaded.file);
  check_store(*loaded.settings, report);
  check_kafka(*loaded.settings, report);
  check_engine(*loaded.settings, report);
  check_machines(*loaded.settings, report);
  check_limits(*loaded.settings, report);
  check_clock(report);
  return report.exit_code();
}

}  // namespace millrace::app
