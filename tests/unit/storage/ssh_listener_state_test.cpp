#include <gtest/gtest.h>

#include "storage/machines/machine_rows.h"
#include "storage/machines/ssh_sessions.h"
#include "tests/unit/storage/machine_store.h"

namespace millrace::storage::testing {
namespace {

using schemas::SshListenerState;

class SshListenerStates : public ::testing::Test {
 protected:
  // A worker of that incarnation starts the machine's sshd.
  void open_ssh(const base::Uuid& worker) {
    ASSERT_TRUE(write(store_.store(), [&](Tx& tx) -> base::Status {
      auto row = find_machine_row(tx.db, machine_);
      row->machine.ssh = schemas::SshEndpoint{"127.0.0.1", 2222, worker};
      save_machine(tx, *row);
      return {};
    }));
  }
  SshListenerState state_for(const base::Uuid& worker) {
    return ssh_listener_state(store_.store(), machine_, worker).value();
  }

  MachineStore store_;
  const base::Uuid machine_ = store_.awake(), other_ = base::Uuid::make(store_.clock.wall());
};

TEST_F(SshListenerStates, AnEndpointIsServedByItsOwnerAloneAndOnlyWhileTheMachineIsAwake) {
  const base::Uuid owner = store_.incarnation;
  store_.beat({});
  EXPECT_EQ(state_for(owner), SshListenerState::kNotYet);
  open_ssh(owner);
  EXPECT_EQ(state_for(owner), SshListenerState::kActive);
  EXPECT_EQ(state_for(other_), SshListenerState::kOver);
  ASSERT_TRUE(store_.submit_command(machine_, MachineCommand::kSleep));
  EXPECT_EQ(state_for(owner), SshListenerState::kOver);
  store_.do_act();
  EXPECT_EQ(state_for(owner), SshListenerState::kOver);
  ASSERT_TRUE(store_.submit_command(machine_, MachineCommand::kRun));
  store_.do_act();
  EXPECT_EQ(state_for(owner), SshListenerState::kNotYet) << "it must be opened again";
}

TEST_F(SshListenerStates, TheEndpointOfAWorkerThatIsGoneHasNoOwner) {
  store_.beat({});
  open_ssh(other_);
  EXPECT_EQ(state_for(store_.incarnation), SshListenerState::kNotYet);
}

TEST_F(SshListenerStates, OfAMachineThatIsNotThereIsOver) {
  EXPECT_EQ(ssh_listener_state(store_.store(), base::Uuid::make(store_.clock.wall()), {}).value(),
            SshListenerState::kOver);
}

}  // namespace
}  // namespace millrace::storage::testing
