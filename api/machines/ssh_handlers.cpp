#include <array>

#include "api/call.h"
#include "api/handlers.h"
#include "api/machines/machine_calls.h"
#include "api/machines/ssh_revocations.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "machines/keys/public_key.h"
#include "machines/keys/ssh_authority.h"
#include "machines/sshd/local_sshd.h"
#include "platform/base/log.h"
#include "schemas/machines/machine_lifecycle.h"
#include "schemas/machines/ssh_session.h"
#include "storage/machines/machines.h"
#include "storage/machines/ssh_sessions.h"

namespace millrace::api {

namespace {

using base::Code;
using schemas::Machine;
using schemas::SshConnection;
using schemas::SshSession;
using schemas::SshStatus;
using storage::SshSessions;

constexpr int kSshPort = 22;
constexpr std::chrono::seconds kClockSkew{60};  // of the host that verifies the certificate

// The address of the machine's sshd and the user name.
struct ListenerView {
  std::string host;
  int port = kSshPort;
  std::string user;
};

ListenerView listener_of(const Machine& machine) {
  switch (machine.driver) {
    case schemas::MachineDriver::kSsh: {
      const auto target = machine.settings.ssh.value_or(schemas::SshTarget());
      return {target.host, target.port, target.user};
    }
    case schemas::MachineDriver::kSandbox:
      break;
  }
  const auto endpoint = machine.ssh.value_or(schemas::SshEndpoint());
  return {endpoint.host, endpoint.port, machines::kSshUser};
}

// In the format of OpenSSH's known_hosts.
std::string host_pattern(const ListenerView& listener) {
  if (listener.port == kSshPort) return listener.host;
  return "[" + listener.host + "]:" + std::to_string(listener.port);
}

// Signs on the commit thread; the key was parsed before.
SshSessions::Issue issue_with(const Context& context, machines::PublicKey key) {
  return [authority = context.ssh_authority, key = std::move(key)](const SshSession& session,
                                                                   const Machine& machine) {
    const ListenerView listener = listener_of(machine);
    const machines::UserCertificate certificate{.key = key,
                                                .serial = static_cast<std::uint64_t>(session.serial),
                                                .key_id = schemas::ssh_session_id(session.id),
                                                .principal = schemas::machine_id(machine.id),
                                                .valid_from = session.created_at - kClockSkew,
                                                .valid_until = session.expires_at};
    return SshConnection{.endpoint = listener.host,
                         .port = listener.port,
                         .username = listener.user,
                         .host_pattern = host_pattern(listener),
                         .host_ca = authority->host_ca(),
                         .certificate = authority->sign(certificate)};
  };
}

base::Error no_session() { return base::error(Code::kNotFound, "There is no such SSH session"); }

// False: an error was sent.
bool has_authority(const Context& context, Call& call) {
  if (context.ssh_authority) return true;
  call.fail(base::error(Code::kOverloaded,
                        "This process has no SSH certificate authority; its log contains the reason"));
  return false;
}

// The key parser's error as a validation error of the body.
schemas::Refusal about_public_key(const base::Error& error) {
  return schemas::invalid(
      {{.loc = {"body", "public_key"}, .msg = error.message, .type = "value_error", .input = {}, .ctx = {}}});
}

struct SessionPath {
  base::Uuid machine, session;
};
// nullopt: 404 was sent.
std::optional<SessionPath> path_session(Call& call) {
  const auto machine = path_machine(call);
  if (!machine) return std::nullopt;
  const auto session = schemas::ssh_session_id_from(call.params.at(1));
  if (session) return SessionPath{*machine, *session};
  call.fail(no_session());
  return std::nullopt;
}

// A text search is safe: a session's body contains no text from clients, so a match is always the member.
front::Reply with_retry_after_header(front::Reply reply) {
  if (reply.body.find(R"("retry_after_ms":)") != std::string::npos) add_retry_after_header(reply);
  return reply;
}

void send_session(const Context& context, Call& call, const SshSession& session) {
  call.reply(
      with_retry_after_header(json_reply(200, schemas::ssh_session_json(session, context.clock.wall()))));
}

SshSessions::Reply shown_session(const Context& context) {
  return [&clock = context.clock](const SshSession& session) {
    return schemas::ssh_session_json(session, clock.wall());
  };
}

storage::Callback<storage::CallReply> session_answer(CallPtr call) {
  return [call = std::move(call)](const base::Result<storage::CallReply>& answer) {
    if (!answer) return call->fail(answer.error());
    call->reply(with_retry_after_header(http_reply_of(*answer)));
  };
}

// True if a waiting session may be ready now, or if its machine is no longer being woken (it may be asleep
// again). Storage then decides. While the machine wakes up, polling causes no write.
bool may_be_ready(Context& context, const std::string& tenant, const SshSession& session) {
  if (session.status != SshStatus::kWaking || session.expires_at <= context.clock.wall()) return false;
  const auto machine = storage::Machines(context.store).machine(tenant, session.machine);
  if (!machine) return false;
  switch (machine->desired) {
    case schemas::MachineState::kRunning:
      return schemas::is_awake(machine->desired, machine->phase);
    case schemas::MachineState::kSleeping:
      return true;
    case schemas::MachineState::kDestroyed:
      break;
  }
  return false;
}

void refresh(Context& context, const CallPtr& call, const SshSession& session) {
  auto key = machines::public_key_from(session.public_key);
  if (!key)
    return call->fail(
        base::error(Code::kInternal, "The public key of this session cannot be read; create a new session"));
  SshSessions(context.store)
      .refresh(call->tenant(), session.machine, session.id, call->principal->key_id,
               issue_with(context, std::move(*key)), [&context, call](const base::Result<SshSession>& fresh) {
                 if (!fresh) return call->fail(fresh.error());
                 send_session(context, *call, *fresh);
               });
}

// Runs after the commit and before the reply, so that sshd rejects the certificate once the client knows that
// its session is closed.
void publish_and_answer(Context& context, const CallPtr& call, const storage::CallReply& answer) {
  const base::Status published = context.revocations.publish();
  if (published) return call->reply(http_reply_of(answer));
  base::log_error("revocation_list_write_failed", {{"error", published.error().message}});
  call->fail(
      base::error(Code::kInternal,
                  "The session is closed, but the revocation list could not be written: close it again"));
}

}  // namespace

std::span<const schemas::Field> ssh_list_fields() { return kPageFields; }

void create_ssh_session(Context& context, CallPtr call) {
  const auto machine = path_machine(*call);
  if (!machine) return;
  auto key = required_key(*call, "session");
  if (!key) return call->fail(key.error());
  if (!has_authority(context, *call)) return;
  auto request = schemas::parse_ssh_request(call->body());
  if (!request) return call->refuse(request.error());
  auto public_key = machines::public_key_from(request->public_key);
  if (!public_key) return call->refuse(about_public_key(public_key.error()));
  SshSessions::Request request_state{.id = base::Uuid::make(context.clock.wall()),
                                     .machine = *machine,
                                     .public_key = public_key->line(),
                                     .lifetime = context.options.ssh_lifetime};
  SshSessions(context.store)
      .create(std::move(request_state), idempotent_call(context, *call, std::move(*key)),
              issue_with(context, std::move(*public_key)), shown_session(context), session_answer(call));
}

void list_ssh_sessions(Context& context, CallPtr call) {
  if (!path_machine(*call)) return;
  PageQuery query;
  std::optional<base::Uuid> before;
  if (!read_query(*call, kPageFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  const auto machine = find_path_machine(context, *call);
  if (!machine) return;
  const auto sessions = SshSessions(context.store).list(call->tenant(), machine->id, query.limit + 1, before);
  if (!sessions) return call->fail(sessions.error());
  send_list(context, *call, *sessions, query.limit, shown_session(context));
}

void get_ssh_session(Context& context, CallPtr call) {
  const auto path = path_session(*call);
  if (!path) return;
  const auto session = SshSessions(context.store).session(call->tenant(), path->machine, path->session);
  if (!session) return call->fail(session.error());
  const bool fresh = context.ssh_authority && may_be_ready(context, call->tenant(), *session);
  if (fresh) return refresh(context, call, *session);
  send_session(context, *call, *session);
}

void close_ssh_session(Context& context, CallPtr call) {
  const auto path = path_session(*call);
  if (!path) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  if (!has_authority(context, *call)) return;
  SshSessions(context.store)
      .close(path->machine, path->session, idempotent_call(context, *call, std::move(*key)),
             shown_session(context), [&context, call](const base::Result<storage::CallReply>& answer) {
               if (!answer) return call->fail(answer.error());
               reply_on_pool(context, call, [&context, call, answer = *answer] {
                 publish_and_answer(context, call, answer);
               });
             });
}

}  // namespace millrace::api
