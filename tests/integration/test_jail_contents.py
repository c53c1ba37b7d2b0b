"""What a process in a jail can see and access, on every way in: whatever is not on a list here is a leak of the host."""

import json
import os
import re

import pytest
from commands import FILE_MACHINE, cli
from jail_ways import PROBED, WAYS, Sftp, Ways, skip_without_ssh
from millrace import BUILD, eventually
from sandboxed import reachable_folder, skip_without_namespaces, start

ROOT_ALONE = "only root can inspect the jails from outside"
SSH_WAYS = ("login", "terminal", "sftp")


@pytest.fixture(scope="module")
def ways():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        try:
            (folder / "run").mkdir(mode=0o700)
            yield Ways(gateway, folder / "run")
        finally:
            gateway.close()


@pytest.fixture
def inside(ways, way):
    look(ways, way)
    return ways.inside[way]


@pytest.fixture
def outside(ways, way):
    if os.geteuid() != 0:
        pytest.skip(ROOT_ALONE)
    look(ways, way)
    return ways.outside[way]


def look(ways, way):
    skip_without_ssh(ways.gateway, way)
    if way == "engine":
        skip_without_namespaces("the engine's jail has other limits")
    if way not in ways.inside and way not in ways.outside:
        ways.look(way)


probed = pytest.mark.parametrize("way", PROBED)
every_way = pytest.mark.parametrize("way", WAYS)


# Processes: descriptors, arguments, environment, rights.

DESCRIPTORS = {
    "first": {"pipe", "anon_inode:[signalfd]", "anon_inode:[eventfd]", "/dev/null of the host", "AF_UNIX socket of the host", "disk.lock of the host"},
    "sshd": {"pipe", "/dev/null of the jail", "AF_UNIX socket of the jail", "/dev/ptmx of the jail", "/dev/pts/ptmx of the jail"},
    "user": {"pipe", "sealed memory file", "/dev/null of the jail", "/dev/pts/0 of the jail", "/dev/tty of the jail"},
    # The engine uses an inherited socket to the gateway: its filter has no call that binds or connects a socket.
    "engine": {"/dev/null of the host", "AF_UNIX socket of the host", "sealed memory file", "millrace-engine of the host", "/ of the jail"},
}


@every_way
def test_each_descriptor_is_of_a_kind_that_its_process_needs(outside):
    leaks = [(each.title, number, kind) for each in outside for number, kind in each.descriptors.items() if kind not in DESCRIPTORS[each.role]]
    assert not leaks


@pytest.mark.parametrize("way", [way for way in WAYS if way != "engine"])
def test_only_the_first_process_of_a_jail_holds_a_socket_of_the_host_or_the_lock_of_its_disk(outside):
    theirs = re.compile("socket of the host|disk.lock")
    assert not [(each.title, kind) for each in outside for kind in each.descriptors.values() if each.role != "first" and theirs.search(kind)]


@pytest.mark.parametrize("way", SSH_WAYS)
def test_no_process_of_a_login_holds_a_socket_of_the_host(outside):
    assert not [(each.title, kind) for each in outside for kind in each.descriptors.values() if "socket of the host" in kind]


@every_way
def test_each_process_is_in_a_folder_of_its_jail(outside):
    assert [each.title for each in outside if not each.is_in_the_jail] == []


OURS = {"PATH", "HOME", "USER", "LOGNAME", "PWD", "MILLRACE_MACHINE_ID"}
OF_A_LOGIN = OURS | {"MAIL", "SHELL", "SHLVL", "OLDPWD", "_", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "TERM", "LANG"}
OF_AN_ENGINE = {"PATH", "HOME", "PWD", "LC_ALL", "OMP_THREAD_LIMIT"}
VARIABLES = {
    "command": OURS | {"MILLRACE_ARTIFACTS", "MILLRACE_EXECUTION_ID"},
    **dict.fromkeys(SSH_WAYS, OF_A_LOGIN),
    "engine": OF_AN_ENGINE,
}


@every_way
def test_each_variable_is_one_that_its_process_needs(outside, way):
    leaks = [(each.title, name) for each in outside for name in set(each.environment) - VARIABLES[way] if not name.startswith("LC_")]
    assert not leaks


@every_way
def test_no_command_line_and_no_variable_names_the_data_directory(outside, ways):
    data = str(ways.gateway.data)
    texts = {each.title: " ".join([*each.command, *each.environment.values()]) for each in outside}
    assert not [title for title, text in texts.items() if data in text or str(BUILD) in text]


@every_way
def test_every_namespace_but_that_of_the_clocks_belongs_to_the_jail(outside, ways):
    for each in outside:
        same = {name for name, number in each.namespaces.items() if ways.namespaces[name] == number}
        assert same <= {"time", "time_for_children"}, each.title


@every_way
def test_no_process_has_or_can_gain_a_capability(outside):
    for each in outside:
        assert_is_bounded(each.status, each.title)


@probed
def test_no_process_that_is_visible_inside_has_or_can_gain_a_capability(inside):
    assert inside["groups"] == []
    for process in inside["processes"].values():
        assert_is_bounded(process["status"], process["name"])


def assert_is_bounded(status, title):
    held = {name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[name], 16) != 0}
    assert (held, status["NoNewPrivs"], status["Seccomp"], status["Groups"]) == (set(), "1", "2", ""), title


# Processes that the jail's user cannot access: the first process, and sshd.

READ_OF_OTHERS = set(
    "arch_status autogroup cgroup cmdline comm coredump_filter cpuset cpu_resctrl_groups gid_map limits loginuid mountinfo mounts oom_adj oom_score "
    "oom_score_adj projid_map sched schedstat sessionid setgroups stat statm status timens_offsets timerslack_ns uid_map wchan".split()
)
WRITTEN_OF_OTHERS = {"timerslack_ns"}  # every user can open it; a write is refused


def closed(inside):
    return {pid: process for pid, process in inside["processes"].items() if pid == "1" or process["name"].startswith("sshd")}


@probed
def test_memory_descriptors_and_variables_of_the_first_process_and_of_sshd_are_closed(inside, way):
    assert len(closed(inside)) == (1 if way == "command" else 3)
    for pid, process in closed(inside).items():
        shown = (process["memory"], process["follows"], process["descriptors"], process["environment"])
        assert shown == ([], [], "!EACCES", "!EACCES"), (pid, process["name"])
        assert set(process["lists"]) <= {"attr"}, (pid, process["name"])


@probed
def test_the_first_process_and_sshd_show_their_state_alone(inside):
    for pid, process in closed(inside).items():
        assert set(process["reads"]) - READ_OF_OTHERS == set(), (pid, process["name"])
        assert set(process["writes"]) - WRITTEN_OF_OTHERS == set(), (pid, process["name"])


@probed
def test_calls_that_reach_into_another_process_are_refused(inside):
    for pid, calls in inside["taken"].items():
        assert {name: how for name, how in calls.items() if how not in ("EPERM", "EACCES")} == {}, pid


@probed
def test_calls_and_sockets_that_no_program_needs_are_refused_by_the_filter(inside):
    for name, how in inside["needless"].items():
        refusals = {"netlink": {"EPROTONOSUPPORT"}, "socket": {"EAFNOSUPPORT"}}.get(name.split()[0], {"EPERM", "ENOSYS"})
        assert how in refusals, name


@pytest.mark.parametrize("way", ["login"])
def test_a_login_finds_no_socket_and_no_open_memory_of_its_sshd(ways, way):
    skip_without_ssh(ways.gateway, way)
    script = (
        "for p in /proc/[0-9]*; do case $(cat $p/comm) in sshd*) echo sshd; (: <>$p/mem) && echo memory; esac; "
        "find $p/fd -lname 'socket:*' -printf 'socket\\n'; done 2>/dev/null | sort -u"
    )
    done = cli(ways.gateway, "ssh", "local", "--", script, env={"XDG_RUNTIME_DIR": str(ways.runtime)})
    assert done.stdout == "sshd\n", done.stderr


@pytest.mark.parametrize("way", ["sftp"])
@pytest.mark.parametrize("path", ["/proc/self/mem", "/proc/self/environ", "/proc/1/environ", "/proc/1/mem", "/proc/1/fd/10", "/usr/sbin/sshd"])
def test_sftp_opens_nothing_of_its_own_server(ways, way, path):
    skip_without_ssh(ways.gateway, way)
    with ways.by_sftp():
        for flags in (1, 2, 3):
            assert ways.sftp.opens(path, flags) == Sftp.REFUSED


# The kernel's folders.

HIDDEN = set(
    "acpi asound bootconfig cmdline diskstats fs interrupts kallsyms kcore key-users keys kmsg kpagecgroup kpagecount kpageflags modules "
    "pagetypeinfo partitions sched_debug scsi slabinfo swaps sysrq-trigger timer_list vmallocinfo".split()
)
NEEDED = {"cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems"}
# The same for every reader, or belonging to the jail.
HARMLESS = set(
    "buddyinfo bus cgroups config.gz consoles crypto devices dma driver execdomains iomem ioports irq locks mdstat misc mtrr pressure softirqs "
    "sys sysvipc tty vmstat zoneinfo".split()
)


@probed
def test_proc_shows_what_programs_need_and_hides_the_host(inside):
    read = {path.split("/")[2] for path in inside["proc"]["reads"]}
    assert NEEDED <= read
    assert sorted(read & HIDDEN) == [], "must be hidden"
    assert sorted(read - NEEDED - HARMLESS) == [], "is on no list"


@probed
def test_no_setting_of_the_kernel_can_be_written(inside):
    assert inside["proc"]["writes"] == []


@probed
def test_there_is_no_sys(inside):
    assert inside["sys"] is False


# Files and devices.

READ_ONLY = {"/", "/usr", "/dev", "/etc/alternatives", "/etc/ld.so.cache", "/etc/fonts", "/var/cache/fontconfig"}
WRITABLE = {"/proc", "/dev/pts", "/tmp"}
DEVICES = {f"/dev/{name}" for name in ("full", "null", "random", "tty", "urandom", "zero")}
OF_SSHD = re.compile("/etc/ssh/[^/]+|/usr/(sbin/sshd|lib/openssh/sshd-(session|auth))")
MACHINE = {"/dev/shm", "/workspace"}


@every_way
def test_each_mount_is_one_that_the_jail_needs(outside, way):
    more = {"command": MACHINE | {"/artifacts"}, "engine": set()}.get(way, MACHINE)
    for point, (kind, access) in outside[-1].mounts.items():
        if point in WRITABLE | DEVICES | more:
            continue
        mask = re.match("/proc/[^/]+", point) and kind in ("tmpfs", "devtmpfs", "proc")
        assert point in READ_ONLY or mask or (way in SSH_WAYS and OF_SSHD.fullmatch(point)), (point, kind)
        assert access == "ro", (point, kind)


@probed
def test_no_mount_lets_a_program_gain_rights_and_only_the_standard_devices_are_devices(inside):
    for line in inside["mounts"]:
        point, options = line.split()[4], line.split()[5].split(",")
        assert "nosuid" in options, line
        assert "nodev" in options or point in DEVICES | {"/dev/pts"}, line


@probed
def test_the_devices_are_the_standard_ones(inside):
    assert {path for path in inside["devices"] if not re.fullmatch("/dev/pts/[0-9]+", path)} <= DEVICES | {"/dev/pts/ptmx"}


@probed
def test_only_the_machines_own_folders_and_the_standard_devices_can_be_written(inside, way):
    folders = MACHINE | {"/tmp", "/dev/pts"} | ({"/artifacts"} if way == "command" else set())
    assert set(inside["writable"]) == folders | DEVICES


@probed
def test_etc_is_what_programs_need(inside, way):
    ours = {"alternatives", "fonts", "ld.so.cache", "passwd", "group", "hosts", "host.conf", "nsswitch.conf", "resolv.conf"}
    assert set(inside["etc"]) <= ours | ({"ssh"} if way != "command" else set())


@probed
def test_there_is_no_network_no_queue_and_no_foreign_key(inside):
    assert inside["interfaces"] == ["lo"] and inside["routes"] == []
    assert inside["sockets"]["tcp"] == inside["sockets"]["udp"] == []
    assert not [line for line in inside["sockets"]["unix"] if len(line.split()) > 7], "a socket with a name"
    assert inside["queues"] == {"msg": [], "sem": [], "shm": []}
    assert inside["keyring"] == "EPERM" and inside["hostname"] == "machine"


# The operator's wake command has no jail. What it inherits from the gateway:

WAKE = """import json, os, sys
links = {name: os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{name}")}
seen = {"descriptors": links, "environment": open("/proc/self/environ").read().split("\\0")}
json.dump(seen, open(sys.argv[1] + ".part", "w"))
os.rename(sys.argv[1] + ".part", sys.argv[1])
"""


@pytest.fixture
def woken():
    """The environment and descriptors of a wake command."""
    with reachable_folder() as folder:
        texts = folder / "told.json"
        (folder / "wake.py").write_text(WAKE)
        machine = {"id": FILE_MACHINE, "name": "sleeper", "wake": {"command": ["/usr/bin/python3", "-E", f"{folder}/wake.py", f"{texts}"]}}
        (folder / "machines.yaml").write_text(json.dumps({"machines": [machine]}))
        gateway = start(folder / "data", "--config", folder / "machines.yaml")
        try:
            assert gateway.client.post(f"/v1/machines/{FILE_MACHINE}/wake").status == 200
            eventually(texts.exists, what="the wake command has run")
            yield json.loads(texts.read_text())
        finally:
            gateway.close()


def test_a_wake_command_inherits_only_its_three_standard_streams(woken):
    assert {name for name in woken["descriptors"] if name not in ("0", "1", "2")} == set()
    assert woken["descriptors"]["0"] == "/dev/null"
    assert all(woken["descriptors"][name].startswith("pipe:") for name in ("1", "2"))


def test_a_wake_command_gets_the_documented_environment(woken):
    names = {pair.partition("=")[0] for pair in woken["environment"] if pair}
    assert names == {"PATH", "HOME", "LANG", "MILLRACE_MACHINE_ID", "MILLRACE_MACHINE_NAME"}
