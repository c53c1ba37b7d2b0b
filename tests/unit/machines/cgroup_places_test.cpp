#include <gtest/gtest.h>

#include "machines/sandbox/group_tree.h"

namespace millrace::machines {
namespace {

constexpr const char* kVersion1 =
    "32 25 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "33 25 0:29 / /sys/fs/cgroup/pids rw,relatime shared:4 - cgroup cgroup rw,pids\n"
    "34 25 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "35 25 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(CgroupPaths, Version1HasOnePlaceForEachController) {
  const auto places = cgroup_paths("8:pids:/\n4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/\n", kVersion1);
  EXPECT_EQ(places.memory, "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(places.pids, "/sys/fs/cgroup/pids");
  EXPECT_EQ(places.cpu, "/sys/fs/cgroup/cpu,cpuacct/c");
  EXPECT_EQ(places.unified, "/sys/fs/cgroup/unified");
}

TEST(CgroupPaths, Version2HasOnePlaceForAll) {
  const auto places =
      cgroup_paths("0::/system.slice/millrace.service\n",
                   "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(places.unified, "/sys/fs/cgroup/system.slice/millrace.service");
  EXPECT_EQ(places.memory, "");
}

TEST(CgroupPaths, InAContainerItIsBelowWhatIsMountedThere) {
  const std::string mounts = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  EXPECT_EQ(cgroup_paths("0::/docker/abc/x\n", mounts).unified, "/sys/fs/cgroup/x");
  EXPECT_EQ(cgroup_paths("0::/docker/abc\n", mounts).unified, "/sys/fs/cgroup");
  EXPECT_EQ(cgroup_paths("0::/other\n", mounts).unified, "") << "our control group is not visible";
  EXPECT_EQ(cgroup_paths("0::/../other\n", "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n").unified,
            "");
}

TEST(CgroupPaths, TextsThatSayNothingGiveNoPlace) {
  const auto places = cgroup_paths("", "nonsense\n1 2 3 - x\n");
  EXPECT_TRUE(places.memory.empty() && places.pids.empty() && places.cpu.empty() && places.unified.empty());
}

TEST(CgroupFiles, ANumberIsFoundByItsWholeKey) {
  EXPECT_EQ(number_in("oom_kill_disable 5\nunder_oom 0\noom_kill 7\n", "oom_kill"), 7U);
  EXPECT_EQ(number_in("low 0\nmax 3", "max"), 3U);
  EXPECT_EQ(number_in("low 0\n", "oom_kill"), 0U);
}

}  // namespace
}  // namespace millrace::machines
