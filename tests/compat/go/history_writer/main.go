// Producers and readers of franz-go that do what lines on stdin say, and tell in lines of JSON what came of it: what the
// lines are is told in tests/support/histories/remote.py. Each of them has a goroutine. It ends with stdin.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A speaker writes the lines of one producer or reader.
type speaker struct{ number int }

var stdout = struct {
	sync.Mutex
	*json.Encoder
}{Encoder: json.NewEncoder(os.Stdout)}

func (s speaker) say(message map[string]any) {
	message["of"] = s.number
	stdout.Lock()
	defer stdout.Unlock()
	if err := stdout.Encode(message); err != nil {
		panic(err)
	}
}

func main() {
	lines := map[string]chan []string{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Split(in.Text(), "\t")
		queue := lines[words[0]]
		switch words[1] {
		case "open", "read":
			queue = make(chan []string, 100_000) // stdin is read on while a call of a producer waits
			lines[words[0]] = queue
			play := produce
			if words[1] == "read" {
				play = read
			}
			go play(speaker{number(words[0])}, words[2:], queue)
		default:
			queue <- words[1:]
		}
	}
}

// settings: the broker is away for a while, and is then found again soon.
func settings(address string, more ...kgo.Opt) []kgo.Opt {
	return append(more,
		kgo.SeedBrokers(address),
		kgo.AlwaysRetryEOF(),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
	)
}

func number(word string) int {
	number, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return number
}
