#include "schemas/machines/machine_request.h"

#include <gtest/gtest.h>

#include "schemas/json/json_body.h"

namespace millrace::schemas::machine_request_test {
namespace {

tl::expected<MachineChange, Refusal> change(std::string body) {
  body.reserve(body.size() + kJsonPadding);
  return parse_machine_change(body);
}

TEST(MachineChange, AnEmptyBodyChangesNothing) {
  for (const char* body : {"", "{}", R"({"name":null,"vcpu":null})"}) {
    const auto read = change(body);
    ASSERT_TRUE(read.has_value()) << body;
    Machine machine, same;
    apply(*read, machine);
    EXPECT_EQ(machine_json(machine, true), machine_json(same, true));
  }
}

TEST(MachineChange, SetsWhatItNames) {
  const auto read =
      change(R"({"name":"build-1","vcpu":0.5,"memory_mib":512,"storage_gib":8,"autosleep":"15m"})");
  ASSERT_TRUE(read.has_value());
  Machine machine;
  apply(*read, machine);
  EXPECT_EQ(machine.name, "build-1");
  EXPECT_EQ(machine.vcpu, 0.5);
  EXPECT_EQ(machine.memory_mib, 512);
  EXPECT_EQ(machine.storage_gib, 8);
  EXPECT_EQ(machine.autosleep_seconds, 900);
  EXPECT_EQ(change(R"({"autosleep":90})")->autosleep_seconds, 90);
  EXPECT_EQ(change(R"({"vcpu":2})")->vcpu, 2.0);
}

TEST(MachineChange, RefusesWhatIsOutOfItsBoundsAndNamesTheField) {
  const std::pair<const char*, const char*> table[] = {
      {R"({"name":""})", "name"},
      {R"({"name":"a b"})", "name"},
      {R"({"vcpu":0})", "vcpu"},
      {R"({"vcpu":"2"})", "vcpu"},
      {R"({"vcpu":257})", "vcpu"},
      {R"({"memory_mib":63})", "memory_mib"},
      {R"({"memory_mib":1.5})", "memory_mib"},
      {R"({"storage_gib":0})", "storage_gib"},
      {R"({"autosleep":"soon"})", "autosleep"},
      {R"({"autosleep":-1})", "autosleep"},
      {R"({"autosleep":18446744073709551615})", "autosleep"},
      {R"({"autosleep":1.5})", "autosleep"},
      {R"({"vcpu":1000000000000000000000000000000})", "vcpu"},
      {R"({"vcpu":-1e400})", "vcpu"},
      {R"({"memory_mib":1000000000000000000000000000000})", "memory_mib"},
      {R"({"storage_gib":-1000000000000000000000000000000})", "storage_gib"},
      {R"({"autosleep":1000000000000000000000000000000})", "autosleep"},
      {R"({"memory":1})", "memory"},
  };
  for (const auto& [body, field] : table) {
    const auto read = change(body);
    ASSERT_FALSE(read.has_value()) << body;
    EXPECT_EQ(read.error().error.code, base::Code::kInvalidField) << body;
    EXPECT_EQ(read.error().error.param, field) << body;
  }
  EXPECT_EQ(change("{").error().error.code, base::Code::kBadRequest);
  EXPECT_FALSE(change("{\"name\":\"" + std::string(64, 'a') + "\"}").has_value());
  EXPECT_TRUE(change("{\"name\":\"" + std::string(63, 'a') + "\"}").has_value());
}

TEST(MachineChange, ANameIsNoMachinesId) {
  const auto read = change(R"({"name":"dm-0192f0a1-7c1e-7000-8000-000000000001"})");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().error.code, base::Code::kInvalidField);
  EXPECT_EQ(read.error().error.param, "name");
  EXPECT_NE(read.error().error.message.find("a machine's id"), std::string::npos)
      << read.error().error.message;
  EXPECT_TRUE(change(R"({"name":"dm-0192f0a1"})").has_value());
}

TEST(RebootRequest, IsForcedOnlyWhenItSaysSo) {
  std::string none, forced = R"({"force":true})", wrong = R"({"force":1})", other = R"({"now":true})";
  EXPECT_EQ(parse_reboot(none), false);
  EXPECT_EQ(parse_reboot(forced), true);
  EXPECT_FALSE(parse_reboot(wrong).has_value());
  EXPECT_FALSE(parse_reboot(other).has_value());
}

}  // namespace
}  // namespace millrace::schemas::machine_request_test
