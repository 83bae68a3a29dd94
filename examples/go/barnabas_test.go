// Package orders shows a Go test against its own broker.
package orders

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// startBarnabas runs a broker until the test has ended, and returns its address. It needs `barnabas` on the PATH, or its
// path in BARNABAS. flags are further flags of `barnabas serve`. Its stdin is a pipe from this process, so it ends with
// this process, even if that is killed.
func startBarnabas(t testing.TB, flags ...string) string {
	t.Helper()
	program := os.Getenv("BARNABAS")
	if program == "" {
		program = "barnabas"
	}
	arguments := append([]string{"serve", "--port", "0", "--ephemeral", "--stop-with-stdin", "--log-level", "warning"}, flags...)
	command := exec.Command(program, arguments...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
	})
	// The first line, `barnabas ready HOST:PORT data=DIR`, comes when clients can connect; none, when it cannot start.
	line, err := bufio.NewReader(stdout).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) < 4 || words[1] != "ready" {
		t.Fatalf("%s did not start: %q", program, line)
	}
	return words[2]
}

func TestAnOrderArrives(t *testing.T) {
	address := startBarnabas(t, "--topic", "orders:3")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	order := &kgo.Record{Topic: "orders", Key: []byte("7"), Value: []byte("one castle")}
	if err := client.ProduceSync(ctx, order).FirstErr(); err != nil {
		t.Fatal(err)
	}
	fetches := client.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if value := string(fetches.Records()[0].Value); value != "one castle" {
		t.Fatalf("read %q", value)
	}
}
