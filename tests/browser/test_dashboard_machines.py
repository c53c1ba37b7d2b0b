"""Machines, and what runs on them."""

from dashboard import ENTER, execution, go, local_machine
from millrace import eventually
from sandboxed import skip_without_commands


def test_the_output_of_a_command_is_seen_while_it_runs_and_it_can_be_cancelled(page, site):
    skip_without_commands(site)
    go(page, site, f"machines/{local_machine(site)['machine_id']}")
    page.type("input[name=line]", "echo begun; sleep 300" + ENTER)
    page.wait_for(".terminal", "begun", within_s=60)
    page.wait_for("h1 .chip", "running")
    page.click(".heading button", "Cancel")
    page.wait_for("h1 .chip", "cancelled", within_s=60)
    page.wait_for(".code", "/executions")


def test_a_machine_is_made_put_to_sleep_woken_and_destroyed(page, site):
    skip_without_commands(site)
    go(page, site, "machines")
    page.click("summary", "New machine")
    page.type("input[name=name]", "browser-made")
    page.click("form button", "Create machine")
    page.wait_for("section[aria-label='browser-made'] .chip", "running", within_s=60)
    page.click("section[aria-label='browser-made'] button", "Sleep")
    page.wait_for("section[aria-label='browser-made'] .chip", "sleeping", within_s=60)
    page.click("section[aria-label='browser-made'] button", "Wake")
    page.wait_for("section[aria-label='browser-made'] .chip", "running", within_s=60)
    page.click("section[aria-label='browser-made'] button", "Destroy")
    page.click("dialog button", "Destroy it")
    page.eventually(lambda: page.run("return !document.querySelector(\"section[aria-label='browser-made']\")"), within_s=60)


def test_the_button_to_the_next_page_does_not_become_the_one_back(page, site):
    page.run("""
      const ask = window.fetch;
      const machine = (id) => ({ machine_id: id, name: id, phase: 'running', driver: 'local', vcpu: 1, memory_mib: 64, storage_gib: 1, created_at: new Date().toISOString() });
      window.fetch = async (path, how) => path === '/v1/machines' ? new Response(JSON.stringify({ items: [machine('dm-1')], next_cursor: 'two' }))
        : path === '/v1/machines?cursor=two' ? new Response(JSON.stringify({ items: [machine('dm-2')] })) : ask(path, how);
    """)
    go(page, site, "machines")
    page.wait_for(".pager button", "Older")
    page.run("window.held = document.querySelector('.pager button'); held.focus()")
    page.press(ENTER)
    page.wait_for(".pager button", "Newer")
    assert page.run("return document.activeElement !== document.querySelector('.pager button') && !held.isConnected")


def test_a_machine_has_its_line_for_ssh_and_its_executions_their_artifacts(page, site):
    skip_without_commands(site)
    go(page, site, f"machines/{local_machine(site)['machine_id']}")
    page.wait_for(".code", "millrace ssh local")
    page.type("input[name=line]", "echo flour > $MILLRACE_ARTIFACTS/list-of-sacks.txt" + ENTER)
    page.click(".files button", "list-of-sacks.txt")
    text = eventually(lambda: next((f.read_text() for f in page.folder.glob("list-of-sacks*.txt")), None), what="the download")
    assert text == "flour\n"


def test_a_list_of_artifacts_that_is_read_again_keeps_its_buttons(page, site):
    """An execution that ends while its screen is opened: a button that is replaced while it is pressed gets no click."""
    skip_without_commands(site)
    execution_id = execution(site, "sh", "-c", "echo flour > $MILLRACE_ARTIFACTS/first.txt")
    site.client.wait_terminal(execution_id)
    go(page, site, "machines")
    page.run("""
      const job = `/v1/jobs/${arguments[0]}`;
      const ask = window.fetch;
      const isReleased = new Promise((resolve) => { window.release = resolve; });
      let jobs = 0;
      let lists = 0;
      window.fetch = async (path, how) => {
        const response = await ask(path, how);
        if (path === job && ++jobs === 1) return new Response(JSON.stringify({ ...await response.json(), status: 'running' }));
        if (!String(path).includes('/artifacts?') || ++lists === 1) return response;
        await isReleased;
        const { items } = await response.json();
        return new Response(JSON.stringify({ items: [...items, { ...items[0], artifact_id: 'art-2', name: 'second.txt' }] }));
      };
    """, execution_id)
    page.run(f"location.hash = '#/jobs/{execution_id}'")
    page.wait_for(".files button", "first.txt")
    page.run("window.held = document.querySelector('.files button'); release()")
    page.wait_for(".files button", "second.txt")
    assert page.run("return held.isConnected")
