#!/bin/sh
# kafka-go cannot log in by SCRAM with a password such as "m²", which each side takes for another.
#
# Software: kafka-go v0.4.51 with its own xdg-go/scram v1.1.2; kafka-clients 4.4.0, whose ScramFormatter is the broker's
#   as well; franz-go v1.22.3 as another client, and its kfake v0.0.0-20260918054303-01f206a7e32c as the broker; Go 1.26
#   or later, Java 17 or later, Maven.
# Expected: by RFC 5802 both sides apply SASLprep to a password before it is salted, so that one written with other
#   characters of the same meaning ("m²" and "m2") is the same. Or neither side does.
# Seen: kafka-go does, by its library for SCRAM. Kafka's method `normalize` only takes the UTF-8 bytes, and salts "m²"
#   and "m2" to different keys. So a user with the password "m²" logs in by Java and franz-go, and never by kafka-go,
#   which logs in with it where the password is "m2". A no-break space, "½" or a decomposed "ä" do the same.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>4.4.0</version>
    </dependency>
  </dependencies>
</project>
XML
cat > Main.java <<'JAVA'
import java.util.Arrays;
import org.apache.kafka.common.security.scram.internals.ScramFormatter;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;

class Main {
    public static void main(String[] arguments) throws Exception {
        var formatter = new ScramFormatter(ScramMechanism.SCRAM_SHA_256);
        var salt = new byte[16];
        var written = formatter.saltedPassword("m\u00b2", salt, 4096);
        var prepared = formatter.saltedPassword("m2", salt, 4096);
        var same = Arrays.equals(written, prepared);
        System.out.println("kafka-clients 4.4.0: m\u00b2 and m2 are the same password: " + same);
        System.exit(same ? 1 : 0);
    }
}
JAVA
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	franz "github.com/twmb/franz-go/pkg/sasl/scram"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Whether the two clients log in with a password, at a broker where the user has another or the same.
func logins(given, kept string) (kafkaGo, franzGo bool) {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "user", kept))
	must(err)
	defer cluster.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	address := cluster.ListenAddrs()[0]
	mechanism, err := scram.Mechanism(scram.SHA256, "user", given)
	must(err)
	_, failed := (&kafka.Dialer{SASLMechanism: mechanism}).DialContext(ctx, "tcp", address)
	auth := franz.Auth{User: "user", Pass: given}
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.SASL(auth.AsSha256Mechanism()))
	must(err)
	defer client.Close()
	return failed == nil, client.Ping(ctx) == nil
}

func main() {
	seen := ""
	for _, pair := range [][2]string{{"m2", "m2"}, {"m²", "m²"}, {"m²", "m2"}} {
		kafkaGo, franzGo := logins(pair[0], pair[1])
		seen += fmt.Sprintf("%s for %s: kafka-go %t, franz-go %t\n", pair[0], pair[1], kafkaGo, franzGo)
	}
	fmt.Print(seen)
	if seen != "m2 for m2: kafka-go true, franz-go true\n"+
		"m² for m²: kafka-go false, franz-go true\n"+
		"m² for m2: kafka-go true, franz-go false\n" {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
mvn --quiet --batch-mode "$copy" -DoutputDirectory=jars >log 2>&1
java -Dstdout.encoding=UTF-8 -cp 'jars/*' Main.java 2>>log || { cat log; echo "the behaviour has changed"; exit 1; }
go mod init finding 2>>log
go get github.com/segmentio/kafka-go@v0.4.51 github.com/xdg-go/scram@v1.1.2 github.com/twmb/franz-go@v1.22.3 \
	github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log || { cat log; exit 1; }
go run .
