"""The service: answers, refused requests, access."""

import http.client
import json
import re
import socket
import sqlite3
import time
import urllib.parse

import msgspec
import pytest

import semibandit as sb
from semibandit.studies.log.stores import open_store
from semibandit.studies.service.auth import Tokens, is_loopback
from study_workers import SPACE, bits

pytest.importorskip("starlette")


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def study(storage):
    with sb.Study(storage, "knob", space=SPACE, seed=0) as study:
        yield study


@pytest.fixture
def server(serve, study, storage):
    return serve(storage)


def send(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    if answer.getheader("content-type") == "application/json":
        data = json.loads(data)
    return answer.status, data


def test_a_round_can_be_played_in_json(server, study):
    status, trial = send(server, "POST", "/api/studies/1/ask", {"worker": "curl", "lease": 60})
    assert status == 200
    lo = 0.5 * trial["rho"]
    seen = {"edges": [lo, lo + 0.5], "values": [0.25]}
    told = {"trial": trial["id"], "seen": seen, "info": {"default_loss": 0.5}}
    assert send(server, "POST", "/api/studies/1/tell", told) == (200, True)
    assert send(server, "POST", "/api/studies/1/tell", told) == (200, False)
    status, answer = send(server, "GET", "/api/studies/1/rounds?since=2")
    assert (status, answer[0]["event"], answer[0]["loss"]) == (200, 3, 0.25)
    assert send(server, "GET", "/api/studies/1/rounds?since=4")[1] == []
    _, now = send(server, "GET", "/api/studies/1/summary")
    _, before = send(server, "GET", "/api/studies/1/summary?event=2")
    assert (before["event"], before["rho"], now["rho"]) == (2, 0.5, study.recommend().rho)
    _, info = send(server, "GET", "/api/studies/1")
    assert (info["name"], info["summary"]) == ("knob", now)
    assert (now["counts"]["told"], now["counts"]["loss"]) == (1, 0.25)
    _, best = send(server, "GET", "/api/studies/1/recommend")
    assert (best["rho"], best["interval"]) == (now["rho"], now["interval"])
    assert study.history()[0].worker == "curl"


def test_cells_of_contexts_are_served(server, study, storage):
    context = sb.Context(kind=sb.Choice("a", "b"))
    with sb.Study(storage, "two kinds", space=SPACE, context=context, seed=0) as other:
        for i in range(300):
            trial = other.ask(context={"kind": "ab"[i % 2]})
            other.tell(trial, 0.1 + 0.8 * abs(trial.rho - (0.1, 0.9)[i % 2]))
        cells = other.learner.contexts()
    assert len(cells) > 1
    status, found = send(server, "GET", "/api/studies/2/contexts")
    assert status == 200
    assert [cell["where"]["kind"] for cell in found] == [list(cell.where["kind"]) for cell in cells]
    assert [cell["recommended"]["rho"] for cell in found] == [cell.recommendation.rho for cell in cells]
    assert sum(cell["rounds"] for cell in found) == 300
    assert send(server, "GET", "/api/studies/2/contexts?limit=1")[1] == found[:1]
    status, answer = send(server, "GET", "/api/studies/1/contexts")
    assert (status, "context" in answer["error"]) == (400, True)


def test_the_openapi_document_describes_every_path(server):
    status, document = send(server, "GET", "/api/openapi.json")
    assert status == 200
    assert document["openapi"] == "3.1.0"
    tell = document["paths"]["/api/studies/{id}/tell"]["post"]
    reference = tell["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert document["components"]["schemas"][reference.rpartition("/")[2]]["additionalProperties"] is False
    for path, methods in document["paths"].items():
        for method in methods:
            body = {} if method == "post" else None
            status, _ = send(server, method.upper(), path.replace("{id}", "99"), body)
            assert status in (200, 400, 404), path
    text = json.dumps(document)
    for part in text.split('"$ref": "#/components/schemas/')[1:]:
        assert part.partition('"')[0] in document["components"]["schemas"]


UNIT = {"space": {"lo": 0, "hi": 1}}
LARGE = {"learner": "Exp3Grid", "options": {"n_arms": 10**9}}
BAD = [
    ("POST", "/api/studies/1/ask", b"{", 400, "cannot be read"),
    ("POST", "/api/studies/1/ask", b"", 400, "cannot be read"),
    ("POST", "/api/studies/1/ask", b"\xff\xfe", 400, "cannot be read"),
    ("POST", "/api/studies/1/ask", b"[" * 100_000, 400, "cannot be read"),
    ("POST", "/api/studies/1/ask", {"colour": 1}, 400, "unknown field `colour`"),
    ("POST", "/api/studies/1/ask", {"lease": -3}, 400, "lease must be"),
    ("POST", "/api/studies/1/ask", {"lease": "long"}, 400, "Expected `float | null`"),
    ("POST", "/api/studies/1/ask", {"worker": "x" * 1000}, 400, "worker must be"),
    ("POST", "/api/studies/1/ask", {"info": {"x": {}}}, 400, "cannot be read"),
    ("POST", "/api/studies/1/ask", {"worker": "\ud800"}, 400, ""),
    ("POST", "/api/studies/1/ask", {"probes": -1}, 400, "probes must be at least 0"),
    ("POST", "/api/studies/1/ask", {"probes": 10**9}, 400, "probes must be at most 1000"),
    ("POST", "/api/studies/99/ask", {}, 404, "no study with the number 99"),
    ("POST", "/api/studies/x/ask", {}, 404, "there is no study 'x'"),
    ("POST", "/api/studies/1/tell", {"trial": 99, "seen": 0.5}, 400, "trial 99 is unknown"),
    ("POST", "/api/studies/1/tell", {"trial": -1}, 400, "trial must be at least 0"),
    ("POST", "/api/studies/1/tell", {"trial": 0, "seen": 1e200}, 400, ""),
    (
        "POST",
        "/api/studies/1/tell",
        {"trial": 0, "seen": {"edges": [0, 1], "values": [1e200]}},
        400,
        "must be finite",
    ),
    ("POST", "/api/studies/1/tell", {"trial": 0, "seen": {"edges": [1, 0], "values": [0]}}, 400, "lo < hi"),
    ("POST", "/api/studies/1/tell", {"trial": 0, "seen": {"edges": [0, 1]}}, 400, "edges and values"),
    ("POST", "/api/studies/1/tell", {"trial": 0, "seen": {"edges": [], "values": []}}, 400, ""),
    ("POST", "/api/studies/1/tell", {"trial": 0, "seen": 0.5, "failure": "x"}, 400, "seen=None"),
    ("POST", "/api/studies/1/renew", {"trial": 9}, 400, "trial 9 is unknown"),
    ("POST", "/api/studies/1/change", {}, 400, "to change"),
    ("POST", "/api/studies", {"name": "a"}, 404, "no study 'a'"),
    ("POST", "/api/studies", {"name": ""}, 400, "the name of a study"),
    (
        "POST",
        "/api/studies",
        {"name": "a", "settings": {"space": {"lo": 1, "hi": 0}}},
        400,
        "lo must be below hi",
    ),
    ("POST", "/api/studies", {"name": "a", "settings": {"space": {"left": 1}}}, 400, "space must be"),
    ("POST", "/api/studies", {"name": "a", "settings": {"space": {}}}, 400, "space must be"),
    ("POST", "/api/studies", {"name": "a", "settings": {"seed": 1}}, 400, "missing required field `space`"),
    ("POST", "/api/studies", {"name": "a", "settings": UNIT | {"options": {"x": 1}}}, 400, "x"),
    ("POST", "/api/studies", {"name": "a", "settings": UNIT | {"learner": "os"}}, 400, "one of"),
    ("POST", "/api/studies", {"name": "a", "settings": UNIT | LARGE}, 400, "at most 10000"),
    ("POST", "/api/studies", {"name": "knob", "settings": {"space": {"lo": 0, "hi": 2}}}, 400, "other set"),
    ("GET", "/api/studies/1/rounds?since=x", None, 400, "since must be a positive integer"),
    ("GET", f"/api/studies/1/log?since={'9' * 20}", None, 400, "since must be a positive integer"),
    ("GET", "/api/studies/1/summary?event=0", None, 400, "event must be a positive integer"),
    ("GET", "/api/studies/1/summary?event=1000", None, 400, "event must be in 1 to"),
    ("GET", "/api/studies/1/nothing", None, 404, "there is no GET"),
    ("DELETE", "/api/studies/1", None, 405, "there is no DELETE"),
    ("GET", "/static/../service.py", None, 404, "there is no GET"),
    ("GET", "/static/%2e%2e/service.py", None, 404, "there is no GET"),
]


def test_a_refused_request_gets_one_sentence_and_changes_nothing(server, study, storage):
    study.ask()
    before = study.n_events, bits(study.learner)
    for method, path, body, expected, message in BAD:
        status, answer = send(server, method, path, body)
        assert (status, list(answer)) == (expected, ["error"]), (path, body, answer)
        assert message in answer["error"], (path, body, answer)
        assert "\n" not in answer["error"]
        assert "Traceback" not in answer["error"]
    assert (study.n_events, bits(study.learner)) == before
    assert len(send(server, "GET", "/api/studies")[1]) == 1


def test_large_bodies_and_other_content_types_are_refused(server):
    status, answer = send(server, "POST", "/api/studies/1/ask", b" " * 1_000_001)
    assert (status, answer["error"]) == (413, "a request must be at most 1000000 bytes")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    chunks = (b" " * 100_000 for _ in range(20))  # without a length
    connection.request(
        "POST", "/api/studies/1/ask", chunks, {"Content-Type": "application/json"}, encode_chunked=True
    )
    assert connection.getresponse().status == 413
    status, answer = send(server, "POST", "/api/studies/1/ask", b"{}", Content_Type="text/plain")
    assert status == 415
    assert "application/json" in answer["error"]


# -- who may use it ----------------------------------------------------------------------------------


def test_without_a_token_only_loopback_hosts_are_served(server):
    for host in ("evil.example", "10.0.0.1:8080", "127.evil.example", ""):
        status, answer = send(server, "GET", "/api/studies", Host=host)
        assert status == 403
        assert "this machine" in answer["error"]
    for host in ("localhost", "127.0.0.1:80", "[::1]:80", "localhost:8080"):
        assert send(server, "GET", "/api/studies", Host=host)[0] == 200
    for host in ("127.8.8.8", "localhost", "::1", "0.0.0.0", "127.x", "example.org", ""):
        assert is_loopback(host) is (host in ("127.8.8.8", "localhost", "::1"))


def test_a_token_is_needed_for_everything(serve, study, storage):
    token = "a-token-of-some-length"
    server = serve(storage, token)
    for path in (
        "/",
        "/studies/1",
        "/api/studies",
        "/api/openapi.json",
        "/api/studies/1/log",
        "/static/page.js",
    ):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "semibandit-token=wrong"}):
            assert send(server, "GET", path, **headers)[0] == 401
    assert send(server, "POST", "/api/studies/1/ask", {})[0] == 401
    assert study.n_events == 1
    bearer = {"Authorization": f"Bearer {token}"}
    assert send(server, "GET", "/api/studies", Host="example.org", **bearer)[0] == 200
    with sb.Client(server.url, token) as client:
        client.tell(client.ask(), None)
    with pytest.raises(PermissionError, match="a token is needed"):
        sb.Client(server.url)
    # A browser is asked for it, and keeps it in a cookie.
    assert send(server, "GET", "/", Accept="text/html")[0] == 303
    assert b"<form" in send(server, "GET", "/login")[1]
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for body, status, where in ((b"token=wrong", 401, None), (f"token={token}".encode(), 303, "/")):
        connection.request("POST", "/login", body, {"Content-Type": form["Content_Type"]})
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.getheader("location")) == (status, where)
    cookie = answer.getheader("set-cookie")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert send(server, "GET", "/", Cookie=cookie.partition(";")[0])[0] == 200


def write_tokens(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_file_of_tokens_is_checked(tmp_path):
    path = write_tokens(tmp_path / "token", "a-token-of-some-length\n")
    assert Tokens(path).role(b"a-token-of-some-length") == "admin"
    for text, message in (
        ("", "there is no token"),
        ("# comment\n", "there is no token"),
        ("short", "line 1: a token is one word of at least 16 ASCII characters"),
        ("read short", "line 1: a token is one word"),
        ("king a-token-of-some-length", "a role is one of read, work, admin, got 'king'"),
    ):
        with pytest.raises(ValueError, match=message):
            Tokens(write_tokens(path, text))
    with pytest.raises(ValueError, match="other users can read"):
        Tokens(write_tokens(path, "a-token-of-some-length", 0o644))


READ, WORK, ADMIN = (f"{role}-0123456789abcdef" for role in ("read", "work", "admin"))


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def tokens(tmp_path):
    return write_tokens(tmp_path / "tokens", f"read {READ}\nwork {WORK}\nadmin {ADMIN}\n")


def test_roles_limit_what_a_token_may_do(serve, storage, study, tokens):
    server = serve(storage, tokens)
    assert send(server, "GET", "/api/studies", **bearer(READ))[0] == 200
    assert send(server, "POST", "/api/studies/1/ask", {}, **bearer(READ)) == (
        403,
        {"error": "this token may only read"},
    )
    assert send(server, "POST", "/api/studies/1/ask", {}, **bearer(WORK))[0] == 200
    assert send(server, "POST", "/api/studies/1/fold", {}, **bearer(WORK))[0] == 403
    assert send(server, "POST", "/api/studies/1/fold", {"keep": 1}, **bearer(ADMIN)) == (200, 2)
    assert send(server, "POST", "/api/studies/1/delete", {"name": "knob"}, **bearer(WORK))[0] == 403
    assert send(server, "POST", "/api/studies/1/delete", {"name": "knob"}, **bearer(ADMIN)) == (200, True)
    assert send(server, "GET", "/api/studies", **bearer(READ))[1] == []


def test_tokens_are_replaced_while_the_service_runs(serve, storage, study, tokens, capfd):
    server = serve(storage, tokens)
    assert send(server, "GET", "/api/studies", **bearer(READ))[0] == 200
    write_tokens(tokens, f"work {WORK}\n")
    assert send(server, "GET", "/api/studies", **bearer(READ))[0] == 401
    write_tokens(tokens, "half a li")
    assert send(server, "GET", "/api/studies", **bearer(WORK))[0] == 200
    assert "the old tokens hold" in capfd.readouterr().err
    write_tokens(tokens, f"read {READ}\n", 0o644)
    assert send(server, "GET", "/api/studies", **bearer(READ))[0] == 401
    tokens.chmod(0o600)
    assert send(server, "GET", "/api/studies", **bearer(READ))[0] == 200


def test_guessing_tokens_is_slowed_down(serve, storage, study, tokens):
    server = serve(storage, tokens)
    answers = [send(server, "GET", "/api/studies", **bearer(f"guess {i}"))[0] for i in range(25)]
    assert answers == [401] * 20 + [429] * 5
    assert send(server, "GET", "/api/studies", **bearer(ADMIN))[0] == 429


def test_a_half_sent_request_ends(serve, storage, study, monkeypatch):
    monkeypatch.setattr("semibandit.studies.service.auth._PATIENCE", 0.2)
    server = serve(storage)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as half:
        head = b"POST /api/studies/1/ask HTTP/1.1\r\nHost: localhost\r\n"
        half.sendall(head + b"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
        assert b"408" in half.recv(1000)


def test_studies_are_renamed_archived_and_deleted(server, storage):
    sb.Study(storage, "other", space=SPACE, seed=1)
    assert send(server, "POST", "/api/studies/1/ask", {})[0] == 200
    assert send(server, "POST", "/api/studies/1/rename", {"name": "new"}) == (200, True)
    assert send(server, "GET", "/api/studies/1")[1]["name"] == "new"
    assert send(server, "POST", "/api/studies/1/rename", {"name": "other"})[0] == 400
    assert send(server, "POST", "/api/studies/1/rename", {"name": ""})[0] == 400
    assert send(server, "POST", "/api/studies/1/archive", {}) == (200, True)
    assert [entry["name"] for entry in send(server, "GET", "/api/studies")[1]] == ["other"]
    assert [entry["name"] for entry in send(server, "GET", "/api/studies?archived")[1]] == ["new"]
    assert send(server, "POST", "/api/studies/1/delete", {"name": "wrong"})[0] == 400
    assert send(server, "POST", "/api/studies/1/delete", {"name": "new"}) == (200, True)
    assert send(server, "GET", "/api/studies/1")[0] == 404


def test_a_study_is_found_by_its_name(server, storage):
    sb.Study(storage, "näme & 100 %", space=SPACE, seed=1)
    path = "/api/studies/" + urllib.parse.quote("näme & 100 %")
    assert send(server, "GET", path)[1]["id"] == 2
    assert send(server, "POST", f"{path}/ask", {})[0] == 200
    assert send(server, "POST", f"{path}/delete", {"name": "näme & 100 %"}) == (200, True)
    status, answer = send(server, "GET", path)
    assert (status, "there is no study" in answer["error"]) == (404, True)


def test_an_exported_study_is_imported_to_the_bit(server, study, tmp_path):
    for _ in range(30):
        study.tell(study.ask(), 0.5)
    status, lines = send(server, "GET", "/api/studies/knob/export")
    assert status == 200
    other = open_store(f"sqlite:///{tmp_path}/other.db")
    other.load("copy", iter(lines.decode().splitlines()))
    with sb.Study(f"sqlite:///{tmp_path}/other.db", "copy") as copy:
        assert bits(copy.learner) == bits(study.learner)


def test_a_study_deleted_over_http_gives_its_space_back(server, storage, study, tmp_path):
    path = tmp_path / "studies.db"
    before = path.stat().st_size
    other = sb.Study(storage, "large", space=SPACE, seed=1)
    for _ in range(200):
        other.tell(other.ask(info={"text": "x" * 500}), 0.5)
    assert path.stat().st_size + (tmp_path / "studies.db-wal").stat().st_size > before + 100_000
    assert send(server, "POST", "/api/studies/large/delete", {"name": "large"}) == (200, True)
    assert path.stat().st_size + (tmp_path / "studies.db-wal").stat().st_size < before + 50_000
    assert send(server, "POST", "/api/studies/knob/ask", {})[0] == 200


def test_metrics_count_requests_and_studies(server, study):
    _, trial = send(server, "POST", "/api/studies/1/ask", {})
    send(
        server,
        "POST",
        "/api/studies/1/tell",
        {"trial": trial["id"], "seen": 0.25, "info": {"default_loss": 0.5}},
    )
    send(server, "POST", "/api/studies/1/ask", {})
    trial = send(server, "POST", "/api/studies/1/ask", {"lease": 1e-9})[1]
    send(server, "POST", "/api/studies/1/tell", {"trial": trial["id"], "seen": 0.25})
    send(server, "POST", "/api/studies/1/ask", {"lease": -1})
    send(server, "GET", "/api/studies/1/<script>")
    status, text = send(server, "GET", "/metrics")
    lines = text.decode().splitlines()
    assert status == 200
    for line in (
        'semibandit_requests_total{kind="ask",status="200"} 3',
        'semibandit_requests_total{kind="ask",status="400"} 1',
        'semibandit_requests_total{kind="other",status="404"} 1',
        'semibandit_request_seconds_count{kind="tell"} 2',
        'semibandit_request_seconds_bucket{kind="tell",le="+Inf"} 2',
        'semibandit_study_mean_minus_default{study="knob"} -0.25',
        'semibandit_study_expired_total{study="knob"} 1',
        'semibandit_study_drift_alarms_total{study="knob"} 0',
        'semibandit_study_told_total{study="knob"} 1',
        'semibandit_study_pending{study="knob"} 1',
        'semibandit_study_mean_loss{study="knob"} 0.25',
    ):
        assert line in lines
    study._backend._store.delete(study.id)
    status, text = send(server, "GET", "/metrics")
    assert (status, b"study_told_total{" in text) == (200, False)


@pytest.mark.parametrize("form", ["text", "json"])
def test_requests_are_logged(serve, storage, study, capfd, form):
    server = serve(storage, log=form)
    for path in ("/healthz", "/api/studies", "/api/studies/99"):
        send(server, "GET", path)
    text, end = "", time.monotonic() + 10
    while text.count("\n") < 2 and time.monotonic() < end:  # written after the answer
        text += capfd.readouterr().err
    lines = text.splitlines()
    assert len(lines) == 2
    if form == "json":
        assert [json.loads(line)["status"] for line in lines] == [200, 404]
    else:
        assert "GET /api/studies/99 404" in lines[1]


def test_a_tell_for_another_parameter_is_refused(server, study):
    trial = study.ask()
    other = msgspec.structs.replace(trial, positions=(trial.position / 2,))
    with pytest.raises(ValueError, match="restored from a backup"):
        study.tell(other, 0.5)
    assert study.tell(trial, 0.5)
    with pytest.raises(ValueError, match="restored from a backup"):
        study.tell(other, 0.5)
    assert not study.tell(trial, 0.5)


def test_pages_load_nothing_from_other_hosts(server):
    for path in ("/", "/studies/1", "/login"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200
        assert "http://" not in text
        assert "https://" not in text
        assert "default-src 'self'" in answer.getheader("content-security-policy")
    status, script = send(server, "GET", "/static/plotly.min.js")
    assert status == 200
    assert len(script) > 1_000_000


def test_a_deleted_study_is_not_found(server, study, storage):
    assert send(server, "POST", "/api/studies/1/ask", {})[0] == 200
    open_store(storage).delete(study.id)
    assert send(server, "POST", "/api/studies/1/ask", {})[0] == 404
    assert send(server, "GET", "/api/studies")[1] == []
    status, info = send(server, "POST", "/api/studies", {"name": "knob", "settings": UNIT})
    assert (status, info["id"]) == (200, 2)


@pytest.mark.parametrize(
    "settings",
    [
        {"space": {"n_rows": [1000, 1000], "interval": {"lo": 0, "hi": 1}}},
        {"space": {"n_rows": 10**12, "interval": {"lo": 0, "hi": 1}}},
        {"space": {"lo": 0, "hi": 1}, "learner": "Exp3Grid", "options": {"horizon": 10**30}},
        {"space": {"lo": 0, "hi": 1}, "learner": "Exp3Grid", "options": {"n_arms": 10**12}},
        {"space": {"lo": 0, "hi": 1}, "options": {"max_pieces": 10**15}},
    ],
)
def test_a_study_of_huge_size_is_refused(server, settings):
    status, answer = send(server, "POST", "/api/studies", {"name": "huge", "settings": settings})
    assert status == 400
    assert re.search("at most (10000 arms or rows|1000000 pieces)", answer["error"])


def test_a_failure_of_the_store_is_503(server, storage, monkeypatch):
    def fails(*args, **options):
        raise sqlite3.OperationalError("unable to open database file")

    open_store(storage).close()
    monkeypatch.setattr(sqlite3, "connect", fails)
    for path, body in (("/api/studies", {"name": "x", "settings": UNIT}), ("/api/studies/1/ask", {})):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Retry-After")) == (503, "1")
        assert "unable to open" in answer.read().decode()
    assert b'status="503"' in send(server, "GET", "/metrics")[1]


def test_an_overloaded_study_answers_503(server, monkeypatch):
    monkeypatch.setattr("semibandit.studies.service.worker._MAX_WAITING", 0)
    status, answer = send(server, "POST", "/api/studies/1/ask", {})
    assert status == 503
    assert "are waiting" in answer["error"]


def test_half_sent_requests_are_closed(serve, storage, study, monkeypatch):
    monkeypatch.setattr("semibandit.studies.service.server._PATIENCE", 0.5)
    server = serve(storage)
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for first in (b"", b"GET /healthz HT", whole + b"GET /hea"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as half:
            half.sendall(first)
            start, received = time.monotonic(), b""
            while data := half.recv(10_000):
                received += data
            assert received.count(b"200 OK") == first.count(b"localhost")
            assert 0.3 < time.monotonic() - start < 20
    assert send(server, "GET", "/healthz") == (200, "ok")


def test_login_leads_back_behind_a_proxy(serve, storage, study):
    server = serve(storage, "t" * 16, root_path="/tuning")
    connection = http.client.HTTPConnection("127.0.0.1", server.port)

    def answer(method, path, body=None, **headers):
        connection.request(method, path, body, {name.replace("_", "-"): v for name, v in headers.items()})
        got = connection.getresponse()
        return got.status, got.getheader("location"), got.read().decode(), got.getheader("set-cookie")

    form = {"Content_Type": "application/x-www-form-urlencoded"}
    status, place, _, _ = answer("GET", "/tuning/studies/1", Accept="text/html")
    assert (status, place) == (303, "/tuning/login?next=/studies/1")
    assert 'value="/studies/1"' in answer("GET", place)[2]
    status, _, page, _ = answer("POST", "/tuning/login", "token=wrong&next=%2Fstudies%2F1", **form)
    assert status == 401
    assert "This token is not known" in page
    assert 'value="/studies/1"' in page
    _, place, _, cookie = answer("POST", "/login", f"token={'t' * 16}&next=%2Fstudies%2F1", **form)
    assert place == "/tuning/studies/1"
    assert "Path=/tuning" in cookie
    for bad in ("//evil.org", "https://evil.org", "/\\evil.org", '/"><script>'):
        body = urllib.parse.urlencode({"token": "t" * 16, "next": bad})
        assert answer("POST", "/login", body, **form)[1] == "/tuning/"
        assert bad not in answer("GET", "/login?" + urllib.parse.urlencode({"next": bad}))[2]


@pytest.mark.parametrize("path", ["tuning", "//x", "/a b", "/<"])
def test_a_bad_root_path_is_refused(storage, path):
    from semibandit.studies.service import make_app

    with pytest.raises(ValueError, match="root_path must be a path"):
        make_app(storage, root_path=path)


def test_probes_need_no_token(serve, storage, study):
    server = serve(storage, token="t" * 16)
    assert send(server, "GET", "/healthz", Host="example.org") == (200, "ok")
    assert send(server, "GET", "/readyz") == (200, "ready")
    assert send(server, "GET", "/api/studies")[0] == 401


def test_a_list_is_read_by_pages(serve, storage):
    for i in range(25):
        sb.Study(storage, f"s{i:02}", space=SPACE, seed=i)
    server = serve(storage)
    _, first = send(server, "GET", "/api/studies?limit=20")
    _, rest = send(server, "GET", f"/api/studies?limit=20&after={first[-1]['id']}")
    assert [entry["name"] for entry in first + rest] == [f"s{i:02}" for i in range(25)]
    _, found = send(server, "GET", "/api/studies?search=S2")
    assert [entry["name"] for entry in found] == [f"s{i}" for i in range(20, 25)]
    assert send(server, "GET", "/api/studies?after=x")[0] == 400


def test_idle_studies_are_dropped_and_opened_again(serve, storage, monkeypatch):
    monkeypatch.setattr("semibandit.studies.service.worker._MAX_OPEN", 3)
    for i in range(8):
        sb.Study(storage, f"s{i}", space=SPACE, seed=i)
    server = serve(storage)
    for _ in range(2):
        for i in range(1, 9):
            status, trial = send(server, "POST", f"/api/studies/{i}/ask", {})
            assert status == 200
            assert send(server, "POST", f"/api/studies/{i}/tell", {"trial": trial["id"], "seen": 0.5})[1]
    assert [entry["told"] for entry in send(server, "GET", "/api/studies")[1][-3:]] == [2, 2, 2]
