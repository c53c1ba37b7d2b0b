#include <algorithm>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/admission/keys.h"
#include "app/cli/cut_off.h"
#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "machines/keys/key_file.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
#include "storage/machines/ssh_sessions.h"

namespace millrace::app {
namespace {

using Authority = std::shared_ptr<const machines::SshAuthority>;

constexpr int kDaysMax = 3'650;
constexpr std::size_t kKeyFileMax = std::size_t{64} << 10;
constexpr std::size_t kPrincipalMax = 255;
constexpr std::chrono::minutes kClockSkew{5};
constexpr unsigned kListMode = 0644;

int with_authority(const Flags& flags, const std::function<int(OpenedStore&, const Authority&)>& act) {
  return with_store(flags, [&](OpenedStore& opened) {
    const auto authority = api::authority_of(*opened.store);
    return authority ? act(opened, *authority) : fail(authority.error().message);
  });
}

// The principals that hosts of remote machines must accept. A certificate names one machine; a host may serve
// several machines.
void show_principals(const std::vector<schemas::Machine>& machines) {
  const auto is_remote = [](const schemas::Machine& machine) { return machine.settings.ssh.has_value(); };
  if (std::none_of(machines.begin(), machines.end(), is_remote)) return;
  std::cout << "\nMachines that allow logins: on each host, add this line to the user's file in\nsshd's "
               "`AuthorizedPrincipalsFile /etc/ssh/millrace/principals/%u`:\n";
  for (const schemas::Machine& machine : machines) {
    if (!is_remote(machine)) continue;
    const schemas::SshTarget& target = *machine.settings.ssh;
    std::cout << "on " << target.host << ": echo " << schemas::machine_id(machine.id)
              << " >> /etc/ssh/millrace/principals/" << target.user << '\n';
  }
}

// Splits names at commas. Empty if one of them is not valid.
std::vector<std::string> names_in(const std::string& text) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; };
  std::vector<std::string> names;
  std::stringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    if (name.empty() || name.size() > kPrincipalMax || !std::all_of(name.begin(), name.end(), is_plain))
      return {};
    names.push_back(std::move(name));
  }
  return names;
}

std::string bytes_from(std::istream& in) {
  std::string bytes(kKeyFileMax, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

base::Result<machines::PublicKey> key_from(const std::string& file) {
  if (file == "-") return machines::public_key_from(bytes_from(std::cin));
  std::ifstream in(file, std::ios::binary);
  if (!in) return base::error(base::Code::kInvalidField, "cannot be read");
  return machines::public_key_from(bytes_from(in));
}

std::uint64_t random_serial() {
  std::uint64_t serial = 0;
  for (const char byte : base::random_bytes(sizeof serial)) {
    serial = serial << 8 | static_cast<std::uint8_t>(byte);
  }
  return serial;
}

// Records the certificate in the audit log first: a certificate that cannot be recorded is not issued.
base::Status record_in_audit(storage::Store& store, const machines::HostCertificate& certificate) {
  schemas::JsonObject data;
  data.raw("names", nlohmann::json(certificate.names).dump())
      .member("serial", std::to_string(certificate.serial))
      .member("expires_at", base::rfc3339(certificate.valid_until));
  auto answer = std::make_shared<std::promise<base::Result<bool>>>();
  auto result = answer->get_future();
  storage::Audit(store).append({.tenant = "default",
                                .actor = kCliActor,
                                .act = "ssh.sign_host",
                                .target = certificate.key.fingerprint(),
                                .data = data.finish()},
                               [answer](base::Result<bool> done) { answer->set_value(std::move(done)); });
  const auto done = result.get();
  if (!done) return done.error();
  return {};
}

}  // namespace

int ssh_ca_show(const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);  // mistakes are reported below
  const auto machines = loaded.settings ? loaded.settings->machines : std::vector<schemas::Machine>();
  return with_authority(flags, [&](OpenedStore&, const Authority& authority) {
    std::cout << "User CA: signs the keys of users. On each remote machine, add it to the file of "
                 "sshd's\nTrustedUserCAKeys:\n"
              << authority->user_ca() << " millrace-user-ca\n\n"
              << "Host CA: signs the keys of hosts (`millrace ssh-ca sign-host`). Clients add it\nto "
                 "~/.ssh/known_hosts, with the hosts' names for the star:\n"
              << "@cert-authority * " << authority->host_ca() << " millrace-host-ca\n";
    show_principals(machines);
    return cli::finish_output();
  });
}

int ssh_ca_sign_host(const HostCertificateRequest& request, const Flags& flags) {
  const std::vector<std::string> names = names_in(request.names);
  if (names.empty()) return usage("--names needs the names that clients connect to: box.example,10.0.0.7");
  if (request.days < 1 || request.days > kDaysMax) return usage("--days needs 1 to 3650");
  const auto key = key_from(request.file);
  if (!key) return usage(request.file + ": " + key.error().message);
  return with_authority(flags, [&](OpenedStore& opened, const Authority& authority) {
    const base::WallTime now = opened.clock.wall();
    const machines::HostCertificate certificate{
        *key, random_serial(), names.front(), names, now - kClockSkew, now + std::chrono::days(request.days)};
    if (auto recorded = record_in_audit(*opened.store, certificate); !recorded)
      return fail(recorded.error().message);
    std::cout << authority->sign(certificate) << '\n';
    return cli::finish_output();
  });
}

int ssh_ca_krl(const std::string& file, const Flags& flags) {
  return with_authority(flags, [&](OpenedStore& opened, const Authority& authority) {
    const auto revoked = storage::SshSessions(*opened.store).revoked();
    if (!revoked) return fail(revoked.error().message);
    const std::string list =
        authority->revocation_list({revoked->serials.begin(), revoked->serials.end()},
                                   static_cast<std::uint64_t>(revoked->version), opened.clock.wall());
    if (file == "-") {
      std::cout << list;
      return cli::finish_output();
    }
    const base::Status done = machines::replace_file(file, list, kListMode);
    return done ? static_cast<int>(cli::kOk) : fail(done.error().message);
  });
}

}  // namespace millrace::app
