import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

import semibandit as sb


@pytest.fixture
def started(tmp_path):
    """Start the service; return the process and its address."""
    processes = []

    def start(*options):
        storage = f"sqlite:///{tmp_path}/studies.db"
        command = [sys.executable, "-m", "semibandit", "serve", "--storage", storage, "--port", "0", *options]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1], re.search(r"http://\S+", processes[-1].stdout.readline())[0]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.status


def test_the_address_is_printed_when_clients_can_connect(started):
    _, url = started()
    assert get(f"{url}/api/studies") == 200


def test_a_running_request_ends_before_the_service_does(started, tmp_path):
    process, url = started()
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", "knob", space=sb.Interval(0, 1), seed=0):
        pass
    lock = sqlite3.connect(tmp_path / "studies.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    answers = []

    def ask():
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/api/studies/1/ask", b"{}", headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            answers.append(json.load(answer)["id"])

    assert get(f"{url}/api/studies/1") == 200
    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    lock.execute("COMMIT")
    lock.close()
    asking.join()
    assert answers == [0]
    assert process.wait(timeout=30) in (0, -signal.SIGTERM)


@pytest.mark.parametrize("removed", [True, False])
def test_a_proxy_shows_the_service_under_a_path(started, removed):
    _, url = started("--root-path", "/tuning/")
    assert get(f"{url}{'' if removed else '/tuning'}/api/studies") == 200
    assert get(f"{url}{'' if removed else '/tuning'}/static/page.js") == 200
