"""The `millrace machines` commands against a real gateway, and the machines of the configuration file."""

import json
import signal

import pytest
from commands import FILE_MACHINE, cli, machine_of, on_terminal, reaches
from millrace import Gateway, eventually
from sandboxed import reachable_folder, start


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


def test_commands_create_use_and_destroy_a_machine(shared):
    made = cli(shared, "machines", "create", "--name", "builder", "--memory-mib", "256", "--autosleep", "1h")
    machine = made.stdout.strip()
    assert made.returncode == 0 and machine.startswith("dm-"), made.stderr
    assert any("builder" in line and machine in line and "256MiB" in line and "1h" in line
               for line in cli(shared, "machines", "ls").stdout.splitlines())
    rows = [json.loads(line) for line in cli(shared, "machines", "ls", "--json").stdout.splitlines()]
    assert machine in [row["machine_id"] for row in rows]
    reaches(shared, "builder", "running")
    changed = cli(shared, "machines", "change", "builder", "--autosleep", "never", "--vcpu", "0.5")
    assert changed.returncode == 0 and "never" in changed.stdout and "0.5" in changed.stdout
    assert cli(shared, "machines", "sleep", "builder").returncode == 0
    reaches(shared, machine, "sleeping")
    assert cli(shared, "machines", "wake", machine).returncode == 0
    reaches(shared, machine, "running")
    assert cli(shared, "machines", "reboot", "--force", "builder").returncode == 0
    reaches(shared, "builder", "running")
    assert "limits" in cli(shared, "machines", "show", "builder").stdout
    assert cli(shared, "machines", "rm", "builder", "--yes").returncode == 0
    eventually(lambda: cli(shared, "machines", "show", machine).returncode == 11, what="gone")


def test_a_command_that_waits_returns_with_the_machine_in_the_desired_state(shared):
    made = cli(shared, "machines", "create", "--name", "patient", "--wait")
    assert made.returncode == 0 and made.stdout.startswith("dm-"), made.stderr
    assert machine_of(shared, "patient")["phase"] == "running"
    for act, phase in (("sleep", "sleeping"), ("wake", "running")):
        done = cli(shared, "machines", act, "patient", "--wait", "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["phase"] == phase, done.stderr
        assert machine_of(shared, "patient")["phase"] == phase
    assert cli(shared, "machines", "wake", "patient", "--wait", "--wait-timeout", "soon").returncode == 2
    rebooted = cli(shared, "machines", "reboot", "patient", "--wait", "--json")
    assert rebooted.returncode == 0 and json.loads(rebooted.stdout)["phase"] == "running", rebooted.stderr
    removed = cli(shared, "machines", "rm", "patient", "--yes", "--wait", "--json")
    assert removed.returncode == 0 and json.loads(removed.stdout)["phase"] == "destroyed", removed.stderr
    assert machine_of(shared, "patient") is None


def test_a_disk_is_destroyed_only_after_a_confirmation(shared):
    assert cli(shared, "machines", "create", "--name", "doomed").returncode == 0
    refused = cli(shared, "machines", "rm", "doomed")
    assert refused.returncode == 2 and "--yes" in refused.stderr
    with on_terminal(shared, "machines", "rm", "doomed") as terminal:
        terminal.until("[y/N]")
        terminal.type("\n")
        assert terminal.end()[1] == 1
    assert machine_of(shared, "doomed")["desired_state"] == "running"
    with on_terminal(shared, "machines", "rm", "doomed") as terminal:
        terminal.until("Destroy doomed and all that is on its disk?")
        terminal.type("y\n")
        assert terminal.end()[1] == 0
    eventually(lambda: machine_of(shared, "doomed") is None, what="gone")


def test_a_second_machine_with_the_same_name_is_refused_with_the_id_of_the_first(shared):
    twin = cli(shared, "machines", "create", "--name", "twin").stdout.strip()
    other = cli(shared, "machines", "create", "--name", "other").stdout.strip()
    for arguments in (["create", "--name", "twin"], ["change", "other", "--name", "twin"]):
        refused = cli(shared, "machines", *arguments)
        assert refused.returncode == 13 and f'the name "twin" is used by machine {twin};' in refused.stderr, refused.stderr
    assert cli(shared, "machines", "rm", "twin", "--yes").returncode == 0
    assert cli(shared, "machines", "change", "other", "--name", "twin").returncode == 0, "the name is free again"
    assert cli(shared, "machines", "rm", other, "--yes", "--wait").returncode == 0


def test_machines_are_listed_by_their_names(shared):
    for name in ("zebra", "ant"):
        assert cli(shared, "machines", "create", "--name", name).returncode == 0
    names = [line.split()[0] for line in cli(shared, "machines", "ls").stdout.splitlines()[1:]]
    assert names == sorted(names) and {"ant", "local", "zebra"} <= set(names)
    assert cli(shared, "machines", "rm", "ant", "zebra", "--yes").returncode == 0


def test_errors_suggest_the_nearest_valid_name(shared):
    near = cli(shared, "machines", "show", "locla")
    assert near.returncode == 11 and "did you mean `local`?" in near.stderr
    assert cli(shared, "machines", "show", FILE_MACHINE).returncode == 11
    assert "did you mean `machines wake`?" in cli(shared, "machines", "wke").stderr
    wrong = cli(shared, "machines", "create", "--memory-mib", "1")
    assert wrong.returncode == 13 and "memory_mib" in wrong.stderr
    assert cli(shared, "machines", "change", "local").returncode == 2
    assert cli(shared, "machines", "ls", "--key", "mr_live_wrongkey_x").returncode == 10


@pytest.fixture
def configured(tmp_path):
    """A gateway with a configuration file, and the path of the file."""
    with reachable_folder() as folder:
        file = folder / "millrace.yaml"
        file.write_text("machines: []\n")
        gateway = Gateway(folder / "data", "--config", file, role="api").start()
        yield gateway, file
        gateway.close()


def hang_up(gateway, event):
    """Sends SIGHUP, and waits for the log event."""
    before = gateway.log.read_text().count(event)
    gateway.popen.send_signal(signal.SIGHUP)
    eventually(lambda: gateway.log.read_text().count(event) > before, what=event)


def test_machines_of_the_file_are_reloaded_at_sighup(configured):
    gateway, file = configured
    assert machine_of(gateway, "filed") is None
    file.write_text(f"machines:\n- id: {FILE_MACHINE}\n  name: filed\n  memory_mib: 128\n")
    hang_up(gateway, "machines_reloaded")
    assert machine_of(gateway, "filed")["machine_id"] == FILE_MACHINE
    file.write_text(f"machines:\n- id: {FILE_MACHINE}\n  name: filed\n  memory_mib: 256\n")
    hang_up(gateway, "machines_reloaded")
    assert machine_of(gateway, "filed")["memory_mib"] == 256
    file.write_text(f"machines:\n- id: {FILE_MACHINE}\n  nmae: filed\n")
    hang_up(gateway, "machines_reload_failed")
    gateway.wait_for_log("did you mean name?")
    assert machine_of(gateway, "filed")["memory_mib"] == 256


def test_machines_of_the_file_exist_from_the_start_and_only_the_file_changes_them(configured):
    gateway, file = configured
    gateway.terminate()
    file.write_text(f"machines:\n- id: {FILE_MACHINE}\n  name: filed\n")
    gateway.start()
    assert machine_of(gateway, "filed")["machine_id"] == FILE_MACHINE
    assert cli(gateway, "machines", "change", "filed", "--memory-mib", "512").returncode == 13
    assert cli(gateway, "machines", "rm", "filed", "--yes").returncode == 13


def test_a_name_in_the_file_that_is_already_in_use_is_reported_and_nothing_changes(configured):
    gateway, file = configured
    made = gateway.client.post("/v1/machines", {"name": "filed"}).json()["machine_id"]
    file.write_text(f"machines:\n- id: {FILE_MACHINE}\n  name: filed\n")
    hang_up(gateway, "machines_reload_failed")
    gateway.wait_for_log(f"has the name of {made}")
    assert machine_of(gateway, "filed")["machine_id"] == made


def test_config_check_shows_the_machines_of_the_file_and_every_mistake(shared, tmp_path):
    file = tmp_path / "millrace.yaml"
    file.write_text(f"machines:\n- id: {FILE_MACHINE}\n  name: far\n  driver: ssh\n  ssh: {{host: far.example, user: me}}\n")
    checked = cli(shared, "config", "check", "--config", file)
    assert checked.returncode == 0 and f"ssh {FILE_MACHINE}" in checked.stdout and "millrace.yaml:2" in checked.stdout
    file.write_text("machines:\n- id: dm-1\n  nmae: far\n  driver: ssh\n")
    wrong = cli(shared, "config", "check", "--config", file)
    assert wrong.returncode == 2
    for expected in ("millrace.yaml:2: machines.id", "millrace.yaml:3: machines.nmae: no such key; did you mean name?",
                 "machines.ssh: is missing"):
        assert expected in wrong.stderr, wrong.stderr
