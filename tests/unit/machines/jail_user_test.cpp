#include <filesystem>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/unit/machines/ssh_tools.h"

// Tests `millrace-jail-init` outside a jail, as the process that starts bubblewrap.
namespace millrace::machines {
namespace {

using testing::HasSubstr;

constexpr const char* kStatus = "/proc/self/status";

class JailUser : public SshTools {
 protected:
  process::Captured as(const std::string& uid, std::vector<std::string> words) {
    process::Command command;
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    command.argv = {(self.parent_path() / "millrace-jail-init").string(), "user", uid};
    for (std::string& word : words) command.argv.push_back(std::move(word));
    auto captured = process::capture(spawner_, std::move(command), {});
    EXPECT_TRUE(captured) << captured.error().message;
    return captured.value_or(process::Captured());
  }
  static std::string our_uid() { return std::to_string(::geteuid() == 0 ? 210'077 : ::geteuid()); }
};

TEST_F(JailUser, ItHasTheUidAndNeitherGroupsNorCapabilitiesNorAWayToNewOnes) {
  const std::string uid = our_uid();
  const std::string status = as(uid, {"/usr/bin/cat", kStatus}).out;
  EXPECT_THAT(status, HasSubstr("Uid:\t" + uid + "\t" + uid + "\t" + uid + "\t" + uid + "\n"));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000000\n"));
  }
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1\n"));
  if (::geteuid() != 0) return;
  EXPECT_THAT(status, HasSubstr("Gid:\t" + uid + "\t" + uid + "\t" + uid + "\t" + uid + "\n"));
  EXPECT_THAT(status, HasSubstr("Groups:\t \n"));
}

TEST_F(JailUser, NothingStartsAsUidZero) {
  for (const char* zero : {"0", "", "x", "4294967296"}) {
    const process::Captured refused = as(zero, {"/usr/bin/echo", "in"});
    EXPECT_EQ(refused.exit.code, 1) << zero;
    EXPECT_EQ(refused.out, "") << zero;
    EXPECT_THAT(refused.err, HasSubstr("uid 0 is refused")) << zero;
  }
}

TEST_F(JailUser, AProcessThatIsNotRootChangesNoUser) {
  if (::geteuid() == 0) {
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "millrace-jail-init";
    const process::Captured refused = as(our_uid(), {program, "user", "210078", "/usr/bin/echo", "in"});
    EXPECT_EQ(refused.exit.code, 1);
    EXPECT_EQ(refused.out, "");
    return;
  }
  EXPECT_EQ(as("210078", {"/usr/bin/echo", "in"}).out, "");
}

TEST_F(JailUser, AProgramThatIsNotThereIsNamed) {
  const process::Captured refused = as(our_uid(), {"/nowhere/program"});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere/program: No such file"));
}

}  // namespace
}  // namespace millrace::machines
