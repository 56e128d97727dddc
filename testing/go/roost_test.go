package roosttest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func call(t *testing.T, s *Server, method, path, body string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequest(method, s.URL+"/api/v4"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("PRIVATE-TOKEN", s.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(response.Body).Decode(&answer)
	return response.StatusCode, answer
}

func TestProjects(t *testing.T) {
	server := Start(t)

	t.Run("a project has a name", func(t *testing.T) {
		server.Reset(t)
		status, project := call(t, server, "POST", "/projects", `{"name":"hello"}`)
		if status != 201 || project["path_with_namespace"] != "root/hello" {
			t.Fatalf("%d %v", status, project)
		}
		calls := server.Requests(t, map[string]string{"route": "/projects"})
		if len(calls) != 1 || *calls[0].Caller != "root" || string(calls[0].Body) != `{"name":"hello"}` {
			t.Fatalf("%+v", calls)
		}
	})

	t.Run("and is gone in the next test", func(t *testing.T) {
		server.Reset(t)
		if status, _ := call(t, server, "GET", "/projects/root%2Fhello", ""); status != 404 {
			t.Fatal(status)
		}
	})

	t.Run("a client must survive this", func(t *testing.T) {
		server.Reset(t)
		server.Fail(t, map[string]any{"route": "/version", "status": 503})
		first, _ := call(t, server, "GET", "/version", "")
		second, _ := call(t, server, "GET", "/version", "")
		if first != 503 || second != 200 {
			t.Fatal(first, second)
		}
		server.RateLimit(t, map[string]any{"limit": 0})
		if status, _ := call(t, server, "GET", "/version", ""); status != 429 {
			t.Fatal(status)
		}
	})

	t.Run("states are kept", func(t *testing.T) {
		server.Reset(t)
		server.Seed(t, map[string]any{"users": []any{map[string]any{"username": "ann"}}})
		server.Snapshot(t, "ann")
		server.Reset(t)
		server.Restore(t, "ann")
		if status, user := call(t, server, "GET", "/users/2", ""); status != 200 || user["username"] != "ann" {
			t.Fatal(status, user)
		}
	})
}
