"""What the README says is true: its commands, its figures, its links, its pictures."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from ffn_core.scenario import MAX_D_FF, MAX_D_MODEL, MAX_EDITED, MAX_LINK, Scenario
from ffn_core.weight_files import MAX_FILE

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_continuous_build_runs_the_readmes_own_test_command():
    (command,) = [line for block in blocks("sh") for line in block.splitlines() if "pytest" in line]
    install, _, run = command.partition(" && ")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(
        rf"^{re.escape(install).replace('install', 'install( -q)?')} && {re.escape(run)}$",
        script,
        re.MULTILINE,
    )


@pytest.mark.parametrize("path", re.findall(r"(?:-r |run |python )([\w/.-]+\.(?:txt|py))", README))
def test_every_file_in_a_command_exists(path):
    assert (ROOT / path).is_file()


def test_the_command_line_prints_the_lines_shown():
    done = subprocess.run(
        [sys.executable, "-m", "ffn_core"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True,
        env={"PYTHONIOENCODING": "utf-8", "PATH": ""},
    )  # fmt: skip
    (shown,) = blocks("text")
    for line in shown.strip().splitlines():
        assert line in done.stdout.splitlines()


def test_the_python_example_prints_what_the_readme_says():
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert f"prints `{done.stdout.strip()}`" in README


def test_the_link_shown_is_the_lesson_with_2_in_the_first_weight():
    (link,) = re.findall(r"`\?(v=[^`]*)`", README)
    scenario, warnings = Scenario.from_query(parse_qs(link))
    ffn, _ = scenario.build()
    assert warnings == []
    assert ffn.w1[0].tolist() == [2.0, 0.2, 0.3, 0.4]
    start, _ = Scenario(base="lesson").build()
    assert start.w1[0, 0] == 0.1


def test_the_random_base_shown_opens():
    (text,) = re.findall(r"`r=([\d-]+)`", README)
    scenario, warnings = Scenario.from_query({"r": text})
    ffn, x = scenario.build()
    assert (warnings, ffn.d_model, ffn.d_ff, len(x)) == ([], 16, 64, 3)


def test_the_limits_named_are_the_limits_kept():
    assert f"d_model 1 to {MAX_EDITED['d_model']}, d_ff 1 to {MAX_EDITED['d_ff']}" in README
    assert f"up to {MAX_D_MODEL} and {MAX_D_FF:,}" in README
    assert f"about {MAX_LINK:,} characters" in README
    config = (ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    assert f"upload limit ({MAX_FILE // 10**6} MB)" in README
    assert f"maxUploadSize = {MAX_FILE // 10**6}" in config


@pytest.mark.parametrize("picture", re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README))
def test_every_picture_exists_and_has_a_text_alternative(picture):
    assert (ROOT / picture).is_file()


def test_every_folder_named_in_the_development_section_exists():
    for name in re.findall(r"^    ([\w.]+/?) {2,}", README, flags=re.MULTILINE):
        assert (ROOT / name).exists(), name


def test_no_file_names_a_registry_host_or_this_machines_paths():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    hosts = ["pypi" + ".org", "registry." + "npmjs", "/work" + "/main", "/tmp" + "/venv"]
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and path.suffix not in {".png", ".npz"}:
            text = path.read_text(encoding="utf-8")
            assert not [host for host in hosts if host in text], name
