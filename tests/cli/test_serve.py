import re
import subprocess
import sys
import urllib.request


def test_the_address_is_printed_when_clients_can_connect(tmp_path):
    storage = f"sqlite:///{tmp_path}/studies.db"
    command = [sys.executable, "-m", "semibandit", "serve", "--storage", storage, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        try:
            url = re.search(r"http://\S+", service.stdout.readline())[0]
            with urllib.request.urlopen(f"{url}/api/studies", timeout=30) as answer:
                assert answer.status == 200
        finally:
            service.terminate()
