#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/config/settings.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"

namespace millrace::app {

// Which parts of the house this process runs.
struct Roles {
  bool api = false;
  std::vector<schemas::Kind> kinds;  // of jobs to work on, kMachine not among them: it comes with kExec
};

// The composition: every part built in one order, started, and taken down in the reverse one
// (docs/design/delivery.md, Drain).
class Gateway {
 public:
  // Blocks until everything runs. The error is for the operator: it says what to do.
  static base::Result<std::unique_ptr<Gateway>> start(const Settings& settings, const Roles& roles);
  ~Gateway();  // without a drain
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  std::string url() const;          // empty without api
  std::string metrics_url() const;  // empty without settings.metrics_listen
  std::string name() const;         // of the worker; empty without one
  bool runs_commands() const;       // this process does, on machine `local`
  // The configuration file's machines from now on (storage::Machines::take_from_file). Blocks until the
  // commit.
  base::Status reload_machines(std::vector<schemas::Machine> machines);
  // The models from now on; requests under way keep theirs.
  void reload_models(const inference::ModelSettings& models);
  // Readiness off, no new work, running work ended or given back, all within settings.drain_timeout.
  void drain();

 private:
  struct Parts;
  explicit Gateway(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::app
