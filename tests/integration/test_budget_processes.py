"""One budget over two API processes and a worker on one data directory, with a real broker: what the provider bills for direct
and deferred chats over both never exceeds it, and both report the same."""

from contextlib import ExitStack, closing

import pytest
from billing import KEYS, BillingUpstream, billed_models
from millrace import Gateway, Worker
from senders import CHAT, WITHIN_S, Senders, check_books, deferred, direct, set_budget

BUDGET_USD = 0.2  # about 200 calls
CHATS = 300  # of each kind over each process: together more than the budget allows
THREADS = 6  # of each kind for each process


@pytest.fixture
def upstream():
    with BillingUpstream() as instance:
        yield instance


@pytest.fixture
def processes(tmp_path, kafka, upstream):
    """Two APIs that start with the budget, and a worker that runs their jobs."""
    config = tmp_path / "millrace.yaml"
    config.write_text(billed_models(upstream) + "limits:\n  single_tenant: true\n")  # only the budget limits
    shared = ("--kafka", kafka.address, "--config", config)
    apis = [Gateway(tmp_path / "data", *shared, role="api", env=KEYS) for _ in range(2)]
    with closing(apis[0].start()) as gateway:
        set_budget(gateway, BUDGET_USD)
    with ExitStack() as open_processes:
        for process in (*apis, Worker(tmp_path / "data", *shared, kinds="chat", env=KEYS)):
            open_processes.enter_context(closing(process.start()))
        yield apis


def send_until_used_up(gateways):
    """Sends deferred and direct chats to each gateway at once. Returns the senders of both kinds for each gateway."""
    calls = [(Senders(gateway), Senders(gateway)) for gateway in gateways]
    for jobs, parallel in calls:
        jobs.start(THREADS, [deferred(number) for number in range(CHATS)])
        parallel.start(THREADS, [direct(number) for number in range(CHATS)])
    for jobs, parallel in calls:
        jobs.join()
        parallel.join()
    return calls


def test_what_two_processes_and_a_worker_spend_is_one_sum(processes, upstream):
    calls = send_until_used_up(processes)
    for (jobs, parallel), gateway in zip(calls, processes, strict=True):
        assert jobs.accepted() and 200 in parallel.statuses(), "both processes spend"
        codes = {error["code"] for error in jobs.refused() + parallel.refused()}
        # After a 429 of the provider, the gateway itself refuses calls for a while.
        assert codes <= {"budget_exceeded", "upstream_rate_limited", "rate_limit_exceeded"}
        check_books(gateway, upstream, BUDGET_USD)
    for job in [job for jobs, _ in calls for job in jobs.accepted()]:
        processes[0].client.wait_terminal(job, WITHIN_S)
    while (last := processes[0].client.post(CHAT, direct(1))).status == 200:
        pass
    books = [check_books(gateway, upstream, BUDGET_USD) for gateway in processes]
    print(f"billed ${upstream.billed:.4f} in {upstream.answered} calls, books {books[0]}")
    assert (books[0]["cost_usd"], books[0]["reserved_usd"]) == (books[1]["cost_usd"], 0) and books[1]["reserved_usd"] == 0
    assert books[0]["cost_usd"] == pytest.approx(upstream.billed) and upstream.billed > 0.9 * BUDGET_USD
    again = processes[1].client.post(CHAT, direct(1))
    assert {last.status, again.status} == {429} and again.json()["error"]["code"] == "budget_exceeded", again.body
    assert upstream.uncapped == 0, "each request limits its output"
