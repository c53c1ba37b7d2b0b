#include <memory>
#include <utility>

#include "storage/call_replies.h"
#include "storage/machine_audit.h"
#include "storage/machine_rows.h"
#include "storage/machine_table.h"
#include "storage/machine_waiting.h"

namespace millrace::storage {
namespace {

using base::Code;
using schemas::Machine;
using schemas::MachineAct;
using schemas::MachineState;

struct Order {
  base::Uuid id;
  MachineWish wish;
  MachineCall call;
  Machines::Reply reply;
};
using OrderPtr = std::shared_ptr<const Order>;

struct Granted {
  Answer answer;
  bool not_yet = false;  // executions were cancelled, and there are more of them
};

bool cancels_first(MachineWish wish) {
  return wish == MachineWish::kForcedReboot || wish == MachineWish::kDestroy;
}

std::string_view audited_as(MachineWish wish) {
  switch (wish) {
    case MachineWish::kRun:
      return "machine.wake";
    case MachineWish::kSleep:
      return "machine.sleep";
    case MachineWish::kReboot:
    case MachineWish::kForcedReboot:
      return "machine.reboot";
    case MachineWish::kDestroy:
      return "machine.destroy";
  }
  return {};
}

std::optional<base::Error> destroyed_already(const Machine& machine, MachineWish wish) {
  if (machine.desired != MachineState::kDestroyed || wish == MachineWish::kDestroy) return std::nullopt;
  return being_destroyed();
}

std::optional<base::Error> in_use(Db& db, const Machine& machine, MachineWish wish) {
  if (wish != MachineWish::kSleep && wish != MachineWish::kReboot) return std::nullopt;
  if (!has_open_executions(db, machine.id)) return std::nullopt;
  return base::error(
      Code::kInvalidState,
      "executions run on the machine or are queued for it; cancel them, or wait for their end");
}

std::optional<base::Error> refusal(Db& db, const MachineRow& row, MachineWish wish) {
  const Machine& m = row.machine;
  if (auto gone = destroyed_already(m, wish)) return gone;
  if (wish == MachineWish::kDestroy && m.source == schemas::MachineSource::kFile) {
    return base::error(Code::kInvalidState,
                       "the machine belongs to the configuration file; its operator takes it out there");
  }
  const bool reboots = wish == MachineWish::kReboot || wish == MachineWish::kForcedReboot;
  if (reboots && row.act && schemas::is_awake(m.desired, m.phase)) {
    return base::error(Code::kInvalidState, "the machine's sshd is being opened; ask again in a moment");
  }
  return in_use(db, m, wish);
}

bool reboot(Tx& tx, const Store::Options& options, MachineRow& row, const schemas::JobId& fresh) {
  if (!schemas::is_awake(row.machine.desired, row.machine.phase)) {
    return want_state(tx, options, row, MachineState::kRunning, fresh);
  }
  begin_act(tx, options, row, MachineAct::kReboot, fresh);
  return true;
}

// False: it was so already.
bool grant(Tx& tx, const Store::Options& options, MachineRow& row, const Order& order) {
  row.used_at = base::millis(tx.now);
  switch (order.wish) {
    case MachineWish::kRun:
      return want_state(tx, options, row, MachineState::kRunning, order.call.act);
    case MachineWish::kSleep:
      return want_state(tx, options, row, MachineState::kSleeping, order.call.act);
    case MachineWish::kReboot:
    case MachineWish::kForcedReboot:
      return reboot(tx, options, row, order.call.act);
    case MachineWish::kDestroy:
      return want_state(tx, options, row, MachineState::kDestroyed, order.call.act);
  }
  return false;
}

base::Result<Granted> want_in(Tx& tx, const Store::Options& options, const Order& order) {
  if (const auto before = reply_before(tx, order.call)) {
    if (!*before) return before->error();
    return Granted{**before};
  }
  auto row = find_machine_of(tx.db, order.call.tenant, order.id);
  if (!row) return no_such_machine();
  if (auto refused = refusal(tx.db, *row, order.wish)) return std::move(*refused);
  if (cancels_first(order.wish) &&
      cancel_open_executions(tx, options, order.id, kSettledAtOnce) == kSettledAtOnce) {
    return Granted{.answer = {}, .not_yet = true};
  }
  if (grant(tx, options, *row, order)) {
    audit_machine(tx, row->machine, order.call.actor, audited_as(order.wish));
  }
  return Granted{keep_reply(tx, order.call, order.reply(row->machine))};
}

// One transaction after the other until no execution is in the way.
void submit(Store& store, const OrderPtr& order, Done<Answer> done) {
  const Store::Options& options = store.options();
  submit_move<Granted>(
      store.writer(), Writer::Priority::kAsked, kMachineRowBytes,
      [order, &options](Tx& tx) { return want_in(tx, options, *order); },
      [&store, order, done = std::move(done)](base::Result<Granted> granted) {
        if (!granted) return done(granted.error());
        if (granted->not_yet) return submit(store, order, done);
        done(std::move(granted->answer));
      });
}

}  // namespace

void Machines::want(base::Uuid id, MachineWish wish, MachineCall call, Reply reply, Done<Answer> done) {
  submit(store_, std::make_shared<const Order>(Order{id, wish, std::move(call), std::move(reply)}),
         std::move(done));
}

void Machines::touch(base::Uuid id, Done<bool> done) {
  submit_move<bool>(
      store_.writer(), Writer::Priority::kNormal, kMachineRowBytes,
      [id](Tx& tx) -> base::Result<bool> { return note_use(tx, id); }, std::move(done));
}

}  // namespace millrace::storage
