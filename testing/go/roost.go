// Package roosttest starts Roost for the tests of Go programs. It is an example to copy: one file without dependencies.
package roosttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Server is a running server and its administrator.
type Server struct {
	URL      string `json:"url"`
	Username string `json:"username"`
	Token    string `json:"token"`
	Password string `json:"password"`
	PID      int    `json:"pid"`
	Control  string `json:"control"`
	World    string `json:"name"`
}

// Call is a recorded call of the API.
type Call struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Route  *string         `json:"route"`
	Caller *string         `json:"caller"`
	Status *int            `json:"status"`
	Body   json.RawMessage `json:"body"`
	Answer json.RawMessage `json:"answer"`
}

// Start starts a server that stops when the test ends. ROOST_PROGRAM is the command, "roost" by default; args are the
// arguments of "roost test", such as "--seed", "seed.yaml".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	program := strings.Fields(os.Getenv("ROOST_PROGRAM"))
	if len(program) == 0 {
		program = []string{"roost"}
	}
	var log bytes.Buffer
	command := exec.Command(program[0], append(append(program[1:], "test"), args...)...)
	command.Stderr = &log
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = command.Wait()
		t.Fatalf("roost test has ended: %s", log.String())
	}
	server := &Server{}
	if err := json.Unmarshal(line, server); err != nil {
		t.Fatal(err)
	}
	return server
}

// Reset restores the initial state.
func (s *Server) Reset(t testing.TB) {
	t.Helper()
	s.control(t, "POST", "/reset", nil, nil)
}

// Snapshot saves the current state under a name.
func (s *Server) Snapshot(t testing.TB, name string) {
	t.Helper()
	s.control(t, "POST", "/snapshots", map[string]any{"name": name}, nil)
}

// Restore restores the state of a snapshot.
func (s *Server) Restore(t testing.TB, name string) {
	t.Helper()
	s.control(t, "POST", "/restore", map[string]any{"snapshot": name}, nil)
}

// Seed adds data.
func (s *Server) Seed(t testing.TB, seed any) {
	t.Helper()
	s.control(t, "POST", "/seed", seed, nil)
}

// RunJob does with a job what a runner would do: {"project": "root/api", "job": "test", "state": "failed", "log": "no\n"}.
func (s *Server) RunJob(t testing.TB, run map[string]any) {
	t.Helper()
	s.control(t, "POST", "/jobs", run, nil)
}

// Fail makes the next matching calls fail: {"route": "/version", "status": 503, "times": 2}.
func (s *Server) Fail(t testing.TB, fault map[string]any) {
	t.Helper()
	s.control(t, "POST", "/faults", fault, nil)
}

// RateLimit limits the calls of each credential: {"limit": 10, "window": 60}.
func (s *Server) RateLimit(t testing.TB, limit map[string]any) {
	t.Helper()
	s.control(t, "POST", "/limits", limit, nil)
}

// Requests returns the calls since the last reset: by method, route, path, caller or status.
func (s *Server) Requests(t testing.TB, filter map[string]string) []Call {
	t.Helper()
	query := url.Values{}
	for name, value := range filter {
		query.Set(name, value)
	}
	var recorded struct {
		Requests []Call `json:"requests"`
	}
	s.control(t, "GET", "/requests?"+query.Encode(), nil, &recorded)
	return recorded.Requests
}

func (s *Server) control(t testing.TB, method, path string, body, answer any) {
	t.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, fmt.Sprintf("%s/worlds/%s%s", s.Control, s.World, path), sent)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode >= 300 {
		t.Fatalf("roost: %s %s: %s", method, path, text)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatal(err)
		}
	}
}
