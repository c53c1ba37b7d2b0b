#include "machines/sandbox.h"

namespace millrace::machines {

struct Sandbox::Parts {
  Options options;
  process::Spawner& spawner;
};

Sandbox::Sandbox(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Sandbox::~Sandbox() = default;

base::Result<std::unique_ptr<Sandbox>> Sandbox::open(Options options, process::Spawner& spawner) {
  return std::unique_ptr<Sandbox>(new Sandbox(std::make_unique<Parts>(Parts{std::move(options), spawner})));
}

CommandEnd Sandbox::run(const CommandOrder& /*order*/, const StopSwitch& /*stop*/, const OnOutput& /*on*/) {
  CommandEnd end;
  end.message = "the host cannot run commands";
  return end;
}

}  // namespace millrace::machines
