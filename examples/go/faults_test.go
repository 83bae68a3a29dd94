package orders

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What a producer does when the broker misbehaves: docs/faults.md.
func TestAnOrderIsWrittenOnceAlthoughItsAnswerIsLost(t *testing.T) {
	control := freeAddress(t)
	address := startBarnabas(t, "--topic", "orders:1", "--http", control, "--control")
	ask(t, "POST", control, "", `{"name": "cut", "match": {"api": "Produce"}, "do": {"cut": "before"}}`)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for offset := int64(0); offset < 2; offset++ {
		sent, err := client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("a castle")}).First()
		if err != nil || sent.Offset != offset {
			t.Fatalf("order %d is at %d: %v", offset, sent.Offset, err)
		}
	}
	ask(t, "GET", control, "/cut?wait_fired=1", "")
}

// ask asks for something below /control/faults, and fails unless the broker does it.
func ask(t testing.TB, method, control, path, body string) {
	t.Helper()
	request, err := http.NewRequest(method, "http://"+control+"/control/faults"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if message, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", answer.Status, message)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
