// A transactional Go client that obeys step by step: started with the name of the client, it takes one step a line on
// stdin and answers each with one line on stdout, as tests/transactions/model.py describes.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"
)

// sessionTimeout is the shortest time after which a broker may declare a group's member dead.
const sessionTimeout = 6 * time.Second

// A producer whose transactions are initialised; see the steps.
type producer interface {
	begin() error
	send(topic string, partition int32, value []byte) error
	copy(group, source, target string, count int) error
	commit() error
	abort() error
	close() error
}

type client struct {
	open     func(address, transactionalID string) (producer, error)
	isFenced func(error) bool
}

var clients = map[string]client{
	"franz-go": {openFranzGo, isFranzGoFenced},
	"sarama":   {openSarama, isSaramaFenced},
	"kafka-go": {openKafkaGo, isKafkaGoFenced},
}

func main() {
	log.SetFlags(0)
	chosen := clients[os.Args[1]]
	producers := map[string]producer{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Split(in.Text(), "\t")
		err := obey(chosen, producers, words[0], words[1], words[2:])
		switch {
		case err == nil:
			fmt.Println("ok")
		case chosen.isFenced(err):
			fmt.Printf("fenced\t%q\n", err)
		default:
			fmt.Printf("error\t%q\n", err)
		}
	}
}

func obey(chosen client, producers map[string]producer, step, handle string, words []string) error {
	switch step {
	case "open":
		opened, err := chosen.open(words[0], words[1])
		producers[handle] = opened
		return err
	case "begin":
		return producers[handle].begin()
	case "send":
		return producers[handle].send(words[0], int32(number(words[1])), []byte(words[2]))
	case "copy":
		return producers[handle].copy(words[0], words[1], words[2], number(words[3]))
	case "commit":
		return producers[handle].commit()
	case "abort":
		return producers[handle].abort()
	case "close":
		return producers[handle].close()
	}
	return fmt.Errorf("no such step: %s", step)
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		log.Fatal(err)
	}
	return n
}
