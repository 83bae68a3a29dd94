// A Go client as a servant: started with the name of the client, it takes commands on stdin and answers on stdout.
//
// One line of tab-separated words is a command, lines answer it, and "." ends an answer; StockClient.java speaks the
// same. Bytes are base64, "-" is null and "=" is empty.
//
//	write ADDRESS TOPIC COMPRESSION COUNT     then COUNT lines: partition timestamp key value headers; answers offsets
//	read ADDRESS TOPIC                        answers partition offset timestamp key value headers
//	group ADDRESS TOPIC GROUP COUNT           the same, read as a member of the group, committed
//	stream ADDRESS TOPIC COUNT WINDOW         answers "number offset" at each acknowledgement
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type header struct {
	key   string
	value []byte
}

type message struct {
	partition int32
	timestamp time.Time // zero: the client's own
	key       []byte
	value     []byte
	headers   []header
}

type record struct {
	message
	offset int64
}

// A client in its stock settings. The functions found and acknowledged may be called from any goroutine.
type client interface {
	write(address, topic, compression string, messages []message) ([]int64, error)
	read(address, topic string, found func(record)) error
	readInGroup(address, topic, group string, count int, found func(record)) error
}

// A client that can write idempotently.
type streamer interface {
	stream(address, topic string, count, window int, acknowledged func(number int, offset int64)) error
}

var clients = map[string]client{"franz-go": franzGo{}, "sarama": saramaClient{}, "kafka-go": kafkaGo{}}

var (
	out      = bufio.NewWriter(os.Stdout)
	outMutex sync.Mutex
)

func main() {
	log.SetFlags(0)
	chosen, ok := clients[os.Args[1]]
	if !ok {
		log.Fatalf("no client %q", os.Args[1])
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		line := in.Text()
		if err := obey(chosen, strings.Split(line, "\t"), in); err != nil {
			log.Fatalf("%s, at %s: %v", os.Args[1], line, err)
		}
		say(".")
	}
}

func obey(chosen client, words []string, in *bufio.Scanner) error {
	address, topic := words[1], words[2]
	switch words[0] {
	case "write":
		messages := make([]message, number(words[4]))
		for i := range messages {
			in.Scan()
			messages[i] = parseMessage(strings.Split(in.Text(), "\t"))
		}
		offsets, err := chosen.write(address, topic, words[3], messages)
		for _, offset := range offsets {
			say(strconv.FormatInt(offset, 10))
		}
		return err
	case "read":
		return chosen.read(address, topic, sayRecord)
	case "group":
		return chosen.readInGroup(address, topic, words[3], number(words[4]), sayRecord)
	case "stream":
		return chosen.(streamer).stream(address, topic, number(words[3]), number(words[4]), func(n int, offset int64) {
			say(fmt.Sprintf("%d\t%d", n, offset))
		})
	}
	return fmt.Errorf("no such command")
}

func say(line string) {
	outMutex.Lock()
	defer outMutex.Unlock()
	if _, err := out.WriteString(line + "\n"); err != nil {
		log.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func sayRecord(r record) {
	pairs := make([]string, len(r.headers))
	for i, h := range r.headers {
		pairs[i] = h.key + "=" + text(h.value)
	}
	headers := "-"
	if len(pairs) > 0 {
		headers = strings.Join(pairs, ",")
	}
	say(fmt.Sprintf("%d\t%d\t%d\t%s\t%s\t%s",
		r.partition, r.offset, r.timestamp.UnixMilli(), text(r.key), text(r.value), headers))
}

func parseMessage(words []string) message {
	m := message{partition: int32(number(words[0])), key: data(words[2]), value: data(words[3])}
	if words[1] != "-" {
		m.timestamp = time.UnixMilli(int64(number(words[1])))
	}
	if words[4] != "-" {
		for _, pair := range strings.Split(words[4], ",") {
			key, value, _ := strings.Cut(pair, "=")
			m.headers = append(m.headers, header{key, data(value)})
		}
	}
	return m
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		log.Fatal(err)
	}
	return n
}

func text(bytes []byte) string {
	switch {
	case bytes == nil:
		return "-"
	case len(bytes) == 0:
		return "="
	}
	return base64.StdEncoding.EncodeToString(bytes)
}

func data(word string) []byte {
	switch word {
	case "-":
		return nil
	case "=":
		return []byte{}
	}
	bytes, err := base64.StdEncoding.DecodeString(word)
	if err != nil {
		log.Fatal(err)
	}
	return bytes
}
