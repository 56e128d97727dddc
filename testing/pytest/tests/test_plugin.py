import json
from datetime import datetime, timezone
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from roost_pytest import RoostError, start


def call(roost, path, body=None, token=None):
    headers = {"PRIVATE-TOKEN": token or roost.token, "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{roost.url}/api/v4{path}", data, headers)) as answer:
        return json.loads(answer.read())


def status(roost, path):
    try:
        call(roost, path)
        return 200
    except HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("_", [1, 2])
def test_each_test_begins_with_the_seed(roost, _):
    assert call(roost, "/user", token="a-token-of-ann")["username"] == "ann"
    assert [project["path_with_namespace"] for project in call(roost, "/projects")] == ["ann/one"]
    assert call(roost, "/projects", {"name": "two"})["id"] == 2


def test_calls_are_recorded(roost):
    call(roost, "/projects/1/issues", {"title": "an issue"})
    recorded = roost.requests(route="/projects/:id/issues")
    assert [(one["caller"], one["status"], one["body"]) for one in recorded] == [("root", 201, {"title": "an issue"})]


def test_calls_fail(roost):
    roost.fail(route="/version", status=503)
    assert [status(roost, "/version"), status(roost, "/version")] == [503, 200]
    roost.rate_limit(1, route="/version", window=600)
    assert [status(roost, "/version"), status(roost, "/version")] == [200, 429]


def test_states_are_kept(roost):
    roost.snapshot("before")
    assert roost.seed({"users": [{"username": "bob"}]})["users"].keys() == {"bob"}
    assert len(call(roost, "/users")) == 3
    roost.restore("before")
    assert len(call(roost, "/users")) == 2


def test_the_clock_stands_until_it_is_advanced(roost):
    assert call(roost, "/projects/1")["created_at"] == "2030-01-01T00:00:00.000Z"
    assert roost.advance(60) == datetime(2030, 1, 1, 0, 1, tzinfo=timezone.utc)


def test_a_job_runs_as_the_test_says(roost):
    actions = [{"action": "create", "file_path": ".gitlab-ci.yml", "content": "check: { script: [make] }"}]
    call(roost, "/projects/1/repository/commits", {"branch": "main", "commit_message": "CI", "actions": actions})
    job = roost.run_job("ann/one", "check", state="failed", log="no\n")
    assert call(roost, f"/projects/1/jobs/{job['id']}")["failure_reason"] == "script_failure"
    with pytest.raises(RoostError, match="has no job deploy"):
        roost.run_job("ann/one", "deploy", wait=0)


def test_a_refusal_says_why(roost):
    with pytest.raises(RoostError, match="there is no /verzion"):
        roost.fail(route="/verzion", status=500)


def test_the_server_lives_as_long_as_the_run(roost, roost_server):
    assert roost is roost_server


def test_a_server_that_does_not_start_says_why(pytestconfig, tmp_path):
    with pytest.raises(RoostError, match="cannot be started"):
        start([str(tmp_path / "no-such-program")])
