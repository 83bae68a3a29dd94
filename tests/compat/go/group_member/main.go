// A member of a group that tells what it sees, with the client that the first word names:
//
//	CLIENT PIPE OWNER ADDRESS TOPIC KIND SESSION_TIMEOUT_MS HEARTBEAT_INTERVAL_MS INSTANCE
//
// It leaves when stdin ends. What it tells is described in chaos/programs.py.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const commitEvery = 5 // turns of a member's loop

// A membership is what the command line says.
type membership struct {
	teller
	addresses []string
	topic     string // the group is named after it
	kind      string // classic, cooperative or consumer
	session   time.Duration
	heartbeat time.Duration
	instance  string // "" for a dynamic member
}

// A teller writes lines into the pipe that all members share: one write for each, so that they do not mix.
type teller struct {
	mutex *sync.Mutex
	pipe  *os.File
	owner string
}

func (t teller) tell(what string, words ...string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	line := strings.Join(append([]string{t.owner, what}, words...), "\t") + "\n"
	if _, err := t.pipe.WriteString(line); err != nil {
		log.Fatal(err)
	}
}

func main() {
	words := os.Args[2:]
	pipe, err := os.OpenFile(words[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		log.Fatal(err)
	}
	m := membership{
		teller:    teller{&sync.Mutex{}, pipe, words[1]},
		addresses: strings.Split(words[2], ","),
		topic:     words[3],
		kind:      words[4],
		session:   milliseconds(words[5]),
		heartbeat: milliseconds(words[6]),
	}
	if words[7] != "-" {
		m.instance = words[7]
	}
	ctx, leave := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	live := map[string]func(context.Context, membership) error{"franz-go": liveFranzGo, "sarama": liveSarama}[os.Args[1]]
	if err := live(ctx, m); err != nil {
		log.Fatal(err)
	}
}

func milliseconds(word string) time.Duration {
	n, err := strconv.Atoi(word)
	if err != nil {
		log.Fatal(err)
	}
	return time.Duration(n) * time.Millisecond
}

func joined(numbers []int32) string {
	words := make([]string, len(numbers))
	for i, number := range numbers {
		words[i] = strconv.Itoa(int(number))
	}
	return strings.Join(words, ",")
}

func position(partition int32, offset int64) string {
	return fmt.Sprintf("%d:%d", partition, offset)
}
