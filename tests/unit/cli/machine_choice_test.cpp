#include "app/cli/machines/machine_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kTwo =
    json::parse(R"([{"machine_id": "dm-1", "name": "local"}, {"machine_id": "dm-2", "name": "build"}])");

TEST(MachineChoice, AMachineIsNamedByItsIdOrItsName) {
  EXPECT_EQ(choose_machine(kTwo, "dm-2").id, "dm-2");
  EXPECT_EQ(choose_machine(kTwo, "build").id, "dm-2");
}

TEST(MachineChoice, WithoutANameItIsLocalOrTheOnlyOne) {
  EXPECT_EQ(choose_machine(kTwo, "").id, "dm-1");
  EXPECT_EQ(choose_machine(json::parse(R"([{"machine_id": "dm-9", "name": "far"}])"), "").id, "dm-9");
  EXPECT_EQ(choose_machine(json::array(), "").exit_code, kNotFound);
  EXPECT_THAT(choose_machine(json::array(), "").problem, HasSubstr("creates `local` at its first start"));
}

TEST(MachineChoice, AnUnknownNameGetsTheNearest) {
  const FoundMachine found = choose_machine(kTwo, "biuld");
  EXPECT_EQ(found.exit_code, kNotFound);
  EXPECT_EQ(found.problem, "there is no machine \"biuld\"; did you mean `build`?");
}

TEST(MachineChoice, ANameOfSeveralIsNoName) {
  const json machines =
      json::parse(R"([{"machine_id": "dm-1", "name": "a"}, {"machine_id": "dm-2", "name": "a"}])");
  const FoundMachine found = choose_machine(machines, "a");
  EXPECT_EQ(found.exit_code, kUsage);
  EXPECT_THAT(found.problem, HasSubstr("2 machines have the name \"a\"; name one by its id: dm-1 dm-2"));
  EXPECT_EQ(choose_machine(machines, "dm-1").id, "dm-1");
}

TEST(MachineChoice, OneThatIsBeingDestroyedHasItsNameWhereNoOtherHasIt) {
  json machines = json::parse(
      R"([{"machine_id": "dm-1", "name": "a", "desired_state": "destroyed"},
          {"machine_id": "dm-2", "name": "a", "desired_state": "running"}])");
  EXPECT_EQ(choose_machine(machines, "a").id, "dm-2");
  machines.erase(1);
  EXPECT_EQ(choose_machine(machines, "a").id, "dm-1");
}

}  // namespace
}  // namespace millrace::cli
