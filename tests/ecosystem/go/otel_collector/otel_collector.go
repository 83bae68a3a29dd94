// Program otel_collector copies a topic into another as logs of OpenTelemetry: otel_collector ADDRESS SOURCE TARGET GROUP DIRECTORY.
//
// The source's records are sent over OTLP, what arrives is kept in Kafka as OTLP, in the topic TARGET-kept, and what is
// received from there is written to the target.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkareceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

const config = `yaml:
receivers:
  kafka/source: &receiver
    brokers: [%[1]q]
    group_id: %[4]q
    initial_offset: earliest
    logs: {topics: [%[2]q], encoding: raw}
    message_marking: {after: true}
    error_backoff: {enabled: true, initial_interval: 100ms, max_interval: 1s, multiplier: 1.5, max_elapsed_time: 0s}
  kafka/kept: {<<: *receiver, group_id: "%[4]s-kept", logs: {topics: ["%[3]s-kept"], encoding: otlp_proto}}
  otlp: {protocols: {grpc: {endpoint: "%[5]s/otlp", transport: unix}}}
exporters:
  otlp: {endpoint: "unix://%[5]s/otlp", tls: {insecure: true}, sending_queue: {enabled: false}}
  kafka/kept: {brokers: [%[1]q], logs: {topic: "%[3]s-kept", encoding: otlp_proto}, sending_queue: {enabled: false}}
  kafka/target: {brokers: [%[1]q], logs: {topic: %[3]q, encoding: raw}, sending_queue: {enabled: false}}
service:
  pipelines:
    logs/source: {receivers: [kafka/source], exporters: [otlp]}
    logs/kept: {receivers: [otlp], exporters: [kafka/kept]}
    logs/target: {receivers: [kafka/kept], exporters: [kafka/target]}
  telemetry: {metrics: {level: none}}
`

func main() {
	address, source, target, group, directory := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	check(os.Mkdir(directory, 0o755))
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{fmt.Sprintf(config, address, source, target, group, directory)},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	check(err)
	check(collector.Run(context.Background()))
}

func components() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](kafkareceiver.NewFactory(), otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](kafkaexporter.NewFactory(), otlpexporter.NewFactory())
	return otelcol.Factories{
		Receivers: receivers,
		Exporters: exporters,
		Telemetry: otelconftelemetry.NewFactory(),
	}, err
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
