#include <gtest/gtest.h>

#include "tests/unit/machines/sandbox_fixture.h"

// Names of users, hosts and services as a command sees them.
namespace millrace::machines {
namespace {

class SandboxNamesTest : public SandboxTest {};

TEST_F(SandboxNamesTest, TheUserHasANameAGroupAndAHome) {
  EXPECT_EQ(output_of("id; whoami; echo $USER $LOGNAME; getent passwd $(id -u)"),
            "uid=1000(machine) gid=1000(machine) groups=1000(machine)\nmachine\nmachine machine\n"
            "machine:*:1000:1000:machine:/workspace:/bin/bash\n");
}

TEST_F(SandboxNamesTest, OwnersOfFilesHaveNames) {
  EXPECT_EQ(output_of("touch mine; stat -c '%U %G' mine /usr"), "machine machine\nnobody nogroup\n");
}

TEST_F(SandboxNamesTest, LocalhostAndTheMachineItselfHaveAddresses) {
  EXPECT_EQ(output_of("python3 - <<'E'\n"
                      "import socket\n"
                      "find = lambda n: sorted({a[4][0] for a in socket.getaddrinfo(n, 80)})\n"
                      "print(find('localhost'), find(socket.gethostname()), socket.getfqdn())\nE\n"),
            "['127.0.0.1', '::1'] ['127.0.1.1'] machine.internal\n");
}

TEST_F(SandboxNamesTest, AnotherHostIsUnknownAtOnce) {
  EXPECT_EQ(output_of("python3 - <<'E'\n"
                      "import socket\n"
                      "try: socket.getaddrinfo('example.com', 80)\n"
                      "except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)\nE\n"),
            "True\n");
}

TEST_F(SandboxNamesTest, TheFilesAreTheSameForEveryCommandAndCannotBeChanged) {
  const std::string list = "cd /etc; cat passwd group hosts nsswitch.conf resolv.conf | cksum";
  const std::string attack =
      "cd /etc; for f in passwd group hosts nsswitch.conf resolv.conf; do\n"
      "(echo x >> $f) 2>/dev/null && echo wrote $f; rm -f $f 2>/dev/null && echo removed $f\n"
      "chmod 600 $f 2>/dev/null && echo mode $f; mv $f ../tmp/ 2>/dev/null && echo moved $f; done; true";
  const std::string before = output_of(list);
  EXPECT_EQ(output_of(attack), "");
  EXPECT_EQ(output_of(list), before);
}

TEST_F(SandboxNamesTest, AVariableOfTheRequestReplacesTheUsersName) {
  CommandRequest order = shell("echo $USER $LOGNAME");
  order.environment = {{"USER", "other"}, {"LOGNAME", ""}};
  EXPECT_EQ(run(order).out, "other\n");
}

}  // namespace
}  // namespace millrace::machines
