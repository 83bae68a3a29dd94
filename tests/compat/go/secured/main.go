// franz-go and sarama over a secured listener, as tests/compat/secured/story.py says; the first word names the client.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"
	"strings"
)

type settings struct {
	address, protocol, mechanism, user, password, authority, name string
}

var (
	committed = []string{"one", "two", "three"}
	aborted   = []string{"nothing"}
	clients   = map[string]func(settings) ([]string, error){"franz-go": franzGo, "sarama": saramaClient}
)

func main() {
	log.SetFlags(0)
	words := os.Args[2:]
	found, err := clients[os.Args[1]](settings{words[0], words[1], words[2], words[3], words[4], words[5], words[6]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(found, "\n"))
}

// tls is nil where the listener has none.
func (s settings) tls() (*tls.Config, error) {
	if s.authority == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(s.authority)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: trusted}, nil
}
