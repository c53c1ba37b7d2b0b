#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/machines/machines_command.h"

namespace millrace::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kMachine =
    json::parse(R"({"machine_id": "dm-0192f0a1-7c1e-7000-8000-000000000001", "name": "local",
  "driver": "sandbox", "vcpu": 0.5, "memory_mib": 2048, "storage_gib": 4, "autosleep_seconds": 5400,
  "desired_state": "running", "phase": "running", "created_at": "2026-01-01T00:00:00Z",
  "status": {"phase": "running", "reason": "ready", "retryable": false}})");

TEST(MachineText, ARowShowsSizesAsPeopleWriteThem) {
  EXPECT_EQ(machine_row(kMachine),
            "local             dm-0192f0a1-7c1e-7000-8000-000000000001  running     sandbox  0.5   2GiB      "
            "4GiB    1h30m");
  json never = kMachine;
  never["autosleep_seconds"] = 0;
  EXPECT_THAT(machine_row(never), testing::EndsWith("never"));
}

TEST(MachineText, ItsHeaderStandsAboveItsColumns) {
  EXPECT_EQ(machine_header().find("ID"), machine_row(kMachine).find("dm-"));
  EXPECT_EQ(machine_header().find("AUTOSLEEP"), machine_row(kMachine).find("1h30m"));
}

TEST(MachineText, AllOfAMachineIsShownOnceItsStatusIncluded) {
  const std::string text = machine_text(kMachine);
  EXPECT_THAT(text, HasSubstr("name                  local\n"));
  EXPECT_THAT(text, HasSubstr("reason                ready\n"));
  EXPECT_THAT(
      text,
      HasSubstr("memory                2GiB\nstorage               4GiB\nautosleep             1h30m\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("autosleep_seconds")));
  EXPECT_EQ(text.find("phase "), text.rfind("phase "));
}

TEST(MachineText, WhatIsMissingIsADash) {
  EXPECT_THAT(machine_row(json::object()), testing::StartsWith("- "));
}

}  // namespace
}  // namespace millrace::cli
