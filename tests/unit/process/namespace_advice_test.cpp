#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/process/jail_options.h"
#include "tests/support/temp_dir.h"

namespace millrace::process {
namespace {

using testing::HasSubstr;
using testing::Not;
using ChangeableBy = KernelSetting::ChangeableBy;

class KernelSettings : public testing::Test {
 protected:
  void set(const char* file, const std::string& value) { proc_sys_.write(file, value + "\n"); }
  std::vector<std::string> forbidding() {
    std::vector<std::string> out;
    for (const KernelSetting& setting : forbidding_settings(proc_sys_.path()))
      out.push_back(setting.name + "=" + setting.required);
    return out;
  }
  support::TempDir proc_sys_;
};

TEST_F(KernelSettings, OnlyThoseThatForbidNamespacesAreNamed) {
  EXPECT_THAT(forbidding(), testing::IsEmpty());
  set("kernel/unprivileged_userns_clone", "1");
  set("kernel/apparmor_restrict_unprivileged_userns", "1");
  set("user/max_user_namespaces", "0");
  EXPECT_THAT(forbidding(), testing::ElementsAre("kernel.apparmor_restrict_unprivileged_userns=0",
                                                 "user.max_user_namespaces=10000"));
}

TEST_F(KernelSettings, NoCommandIsAdvisedWhereItCannotBeRun) {
  EXPECT_EQ(allow_namespaces({{"a", "1", ChangeableBy::kThisUser}, {"b", "2", ChangeableBy::kThisUser}}),
            "allow user namespaces: sysctl -w a=1 b=2");
  EXPECT_THAT(allow_namespaces({{"a", "1", ChangeableBy::kRoot}}), HasSubstr("as root: sysctl -w a=1"));
  EXPECT_THAT(allow_namespaces({{"a", "1", ChangeableBy::kThisUser}, {"b", "2", ChangeableBy::kHost}}),
              HasSubstr("on the host, since /proc/sys cannot be written here: sysctl -w a=1 b=2; in Docker"));
}

TEST_F(KernelSettings, WhereTheKernelAllowsNamespacesNoSysctlIsAdvised) {
  EXPECT_THAT(allow_namespaces({}), testing::AllOf(HasSubstr("seccomp"), Not(HasSubstr("sysctl"))));
}

}  // namespace
}  // namespace millrace::process
