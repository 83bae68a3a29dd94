// What franz-go does when a fault meets one of its requests: plays the scenarios of tests/compat/under_faults, several at
// a time. A line "NUMBER SCENARIO ADDRESS" on stdin asks for one, and "NUMBER OUTCOME" on stdout is the answer, with tabs
// between the words. It ends with stdin.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	limit    = 90 * time.Second // of a play
	maxTries = 5                // of a call
)

// A play is a careful program at work: it makes a call again where franz-go says that this may help.
type play struct {
	ctx     context.Context
	address string
	outcome string
}

// errAborted: the transaction was not committed, without an error. What it has read is read again.
var errAborted = errors.New("aborted")

func main() {
	var playing sync.WaitGroup
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Split(in.Text(), "\t")
		playing.Go(func() { fmt.Printf("%s\t%s\n", words[0], outcome(scenarios[words[1]], words[2])) })
	}
	playing.Wait()
}

// outcome is "goes on" where the program had to do nothing, "tries again" where a call was made again, and else the name
// of the error that it was given.
func outcome(scenario func(*play) error, address string) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	p := &play{ctx, address, "goes on"}
	if err := scenario(p); err != nil {
		return name(err)
	}
	return p.outcome
}

func (p *play) do(call func() error) error {
	err := call()
	for tries := 1; err != nil && mayTryAgain(err) && tries < maxTries; tries++ {
		p.outcome = "tries again"
		err = call()
	}
	return err
}

// mayTryAgain is true of an answer that is not final, and of one that did not come in time.
func mayTryAgain(err error) bool {
	return kerr.IsRetriable(err) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, errAborted)
}

func name(err error) string {
	if answer, ok := errors.AsType[*kerr.Error](err); ok {
		return answer.Message
	}
	if _, ok := errors.AsType[*kgo.ErrFirstReadEOF](err); ok {
		return "ErrFirstReadEOF"
	}
	return strconv.Quote(err.Error())
}
