"""Machines, and what runs on them."""

from dashboard import ENTER, go, local_machine, needs_commands


def test_the_output_of_a_command_is_seen_while_it_runs_and_it_can_be_cancelled(page, site):
    needs_commands(site)
    go(page, site, f"machines/{local_machine(site)['machine_id']}")
    page.type("input[name=line]", "echo begun; sleep 300" + ENTER)
    page.wait_for(".terminal", "begun", within_s=60)
    page.wait_for("h1 .chip", "running")
    page.click(".heading button", "Cancel")
    page.wait_for("h1 .chip", "cancelled", within_s=60)
    page.wait_for(".code", "/executions")


def test_a_machine_is_made_put_to_sleep_and_destroyed(page, site):
    needs_commands(site)
    go(page, site, "machines")
    page.click("summary", "New machine")
    page.type("input[name=name]", "browser-made")
    page.click("form button", "Make the machine")
    page.wait_for("section[aria-label='browser-made'] .chip", "running", within_s=60)
    page.click("section[aria-label='browser-made'] button", "Sleep")
    page.wait_for("section[aria-label='browser-made'] .chip", "sleeping", within_s=60)
    page.click("section[aria-label='browser-made'] button", "Destroy")
    page.click("dialog button", "Destroy it")
    page.eventually(lambda: page.run("return !document.querySelector(\"section[aria-label='browser-made']\")"), within_s=60)
