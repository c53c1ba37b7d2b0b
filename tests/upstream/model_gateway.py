"""A gateway with the mock models and models of an upstream."""

from millrace import Gateway


def model_gateway(folder, rows, more=""):
    """Starts the gateway; the caller closes it. `rows`: (name, provider, model, base URL). `more`: further lines of the configuration."""
    text = "".join(
        f"- {{name: {name}, provider: {provider}, model: {model}, base_url: '{url}', api_key: env:UP_KEY}}\n"
        for name, provider, model, url in rows
    )
    config = folder / "millrace.yaml"
    config.write_text(f"mock: true\n{more}models:\n{text}")
    return Gateway(folder / "data", "--config", config, env={"UP_KEY": "sk-0123456789"}).start()
