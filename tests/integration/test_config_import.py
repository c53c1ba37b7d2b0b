"""`millrace config import`: a configuration file of LiteLLM's proxy is converted for the gateway."""

import subprocess

from millrace import BUILD, Gateway

LITELLM = """
model_list:
  - {model_name: fast, litellm_params: {model: openai/gpt-4o-mini, api_key: os.environ/TEAM_KEY, rpm: 600}}
  - {model_name: fast, litellm_params: {model: groq/llama, api_key: gsk-very-secret, rpm: 200}}
  - {model_name: own, litellm_params: {model: ollama/llama3.2, api_base: "http://127.0.0.1:11434"}}
  - {model_name: far, litellm_params: {model: bedrock/titan}}
router_settings: {fallbacks: [{fast: [own]}], num_retries: 1}
general_settings: {master_key: sk-master}
"""


def imported(folder, *arguments):
    (folder / "litellm.yaml").write_text(LITELLM)
    command = [BUILD / "millrace", "config", "import", "litellm.yaml", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_a_gateway_starts_with_what_was_imported_and_offers_its_models(tmp_path):
    done = imported(tmp_path, "-o", "millrace.yaml")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    env = {"TEAM_KEY": "a", "LITELLM_KEY_1": "b"}
    gateway = Gateway(tmp_path / "data", "--config", tmp_path / "millrace.yaml", env=env).start()
    try:
        names = [model["id"] for model in gateway.client.get("/v1/models").json()["data"]]
        assert {"fast", "own"} <= set(names) and "far" not in names
    finally:
        gateway.close()


def test_what_was_not_imported_is_reported_and_no_secret_is_written(tmp_path):
    done = imported(tmp_path)
    assert done.returncode == 0
    assert "secret" not in done.stdout and "sk-master" not in done.stdout + done.stderr and "gsk-very" not in done.stderr
    for expected in ("LITELLM_KEY_1", "bedrock", "general_settings", "litellm.yaml:6"):
        assert expected in done.stderr, done.stderr


def test_an_existing_file_stays_unchanged(tmp_path):
    (tmp_path / "millrace.yaml").write_text("listen: 127.0.0.1:1\n")
    done = imported(tmp_path, "-o", "millrace.yaml")
    assert done.returncode == 1 and "exists already" in done.stderr
    assert (tmp_path / "millrace.yaml").read_text() == "listen: 127.0.0.1:1\n"


def test_a_file_without_models_is_refused(tmp_path):
    for text in ("", "model_list: []\n", "model_list: [\n", "listen: x\n"):
        (tmp_path / "none.yaml").write_text(text)
        arguments = [BUILD / "millrace", "config", "import", tmp_path / "none.yaml"]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (1, ""), text
        assert "none.yaml" in done.stderr


def test_a_file_above_the_limit_is_refused_by_import_and_check(tmp_path):
    large = tmp_path / "large.yaml"
    large.write_text("listen: " + "a" * (4 << 20))
    for words in (("import", large), ("check", "--config", large)):
        done = subprocess.run([BUILD / "millrace", "config", *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0 and "larger than 4MiB" in done.stderr, done.stderr
