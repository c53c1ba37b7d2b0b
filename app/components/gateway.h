#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/config/settings.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"

namespace millrace::app {

// Which parts of the system this process runs.
struct Roles {
  bool api = false;
  std::vector<schemas::Kind> kinds;  // job kinds of the worker, without kMachine, which kExec implies
};

// Builds all components in one order, starts them, and destroys them in reverse order
// (docs/design/delivery.md §12).
class Gateway {
 public:
  // Blocks until everything runs. The error is meant for the operator and says what to do.
  static base::Result<std::unique_ptr<Gateway>> start(const Settings& settings, const Roles& roles);
  ~Gateway();  // does not drain
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  std::string url() const;          // empty without api
  std::string metrics_url() const;  // empty without settings.metrics_listen
  std::string name() const;         // of the worker; empty without one
  bool runs_commands() const;       // true if this process runs commands on machine `local`
  // Replaces the machines of the configuration file (storage::Machines::apply_config_file). Blocks until the
  // commit.
  base::Status reload_machines(std::vector<schemas::Machine> machines);
  // Replaces the models. Requests in progress keep the previous ones.
  void reload_models(const inference::ModelSettings& models);
  // Turns readiness off, accepts no new work, and finishes or returns running work, within
  // settings.drain_timeout.
  void drain();

 private:
  struct Impl;
  explicit Gateway(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::app
