{{/* The listeners, what they need, and the broker's server.properties. */}}

{{/* From name to protocol, port in the pod, address to bind, and the address for clients. */}}
{{- define "barnabas.listeners" -}}
{{- $client := .Values.listeners.client -}}
CLIENT:
  protocol: {{ $client.protocol }}
  bind: ":{{ $client.containerPort }}"
  port: {{ $client.containerPort }}
  advertised: "{{ include "barnabas.host" . }}:{{ .Values.service.ports.client }}"
LOCAL:
  protocol: {{ $client.protocol }}
  bind: "localhost:{{ .Values.listeners.local.containerPort }}"
  port: {{ .Values.listeners.local.containerPort }}
  advertised: "localhost:{{ .Values.listeners.local.containerPort }}"
{{- if .Values.externalAccess.enabled }}
EXTERNAL:
  protocol: {{ .Values.listeners.external.protocol | default $client.protocol }}
  bind: ":{{ .Values.listeners.external.containerPort }}"
  port: {{ .Values.listeners.external.containerPort }}
  advertised: {{ include "barnabas.outside" . | quote }}
{{- end }}
{{- end -}}

{{/* The address for clients outside of the cluster. */}}
{{- define "barnabas.outside" -}}
{{- with .Values.externalAccess.service -}}
{{- $host := .domain | default (first .loadBalancerIPs) -}}
{{- $port := eq .type "NodePort" | ternary (first .nodePorts) .ports.external -}}
{{- printf "%s:%v" (contains ":" (toString $host) | ternary (printf "[%v]" $host) (toString $host)) $port -}}
{{- end -}}
{{- end -}}

{{- define "barnabas.protocols" -}}
{{- range include "barnabas.listeners" . | fromYaml }}{{ .protocol }} {{ end -}}
{{- end -}}

{{- define "barnabas.hasTls" -}}
{{- if contains "SSL" (include "barnabas.protocols" .) }}true{{ end -}}
{{- end -}}

{{- define "barnabas.hasSasl" -}}
{{- if contains "SASL" (include "barnabas.protocols" .) }}true{{ end -}}
{{- end -}}

{{/* Whether the ports of HTTP and of the registry use HTTPS and require a login. An HTTP port that is alone and inside the
pod does so only with `secure`. */}}
{{- define "barnabas.hasHttps" -}}
{{- $hasLogin := and (include "barnabas.hasTls" .) (include "barnabas.hasSasl" .) (or .Values.metrics.enabled .Values.registry.enabled) -}}
{{- if or .Values.secure $hasLogin }}true{{ end -}}
{{- end -}}

{{/* Keys that follow from other values. */}}
{{- define "barnabas.ownConfiguration" -}}
{{- $listeners := include "barnabas.listeners" . | fromYaml -}}
{{- $bound := list -}}{{- $advertised := list -}}{{- $map := list -}}
{{- range $name, $it := $listeners -}}
{{- $bound = append $bound (printf "%s://%s" $name $it.bind) -}}
{{- $advertised = append $advertised (printf "%s://%s" $name $it.advertised) -}}
{{- $map = append $map (printf "%s:%s" $name $it.protocol) -}}
{{- end -}}
listeners: {{ join "," $bound | quote }}
advertised.listeners: {{ join "," $advertised | quote }}
listener.security.protocol.map: {{ join "," $map | quote }}
inter.broker.listener.name: CLIENT
log.dirs: {{ .Values.persistence.mountPath }}/data
{{- if or .Values.tls.existingSecret .Values.sasl.existingSecret }}
config.providers: directory
config.providers.directory.class: org.apache.kafka.common.config.provider.DirectoryConfigProvider
{{- end }}
{{- if .Values.tls.existingSecret }}
ssl.keystore.type: PEM
ssl.keystore.certificate.chain: ${directory:/secrets/tls:tls.crt}
ssl.keystore.key: ${directory:/secrets/tls:tls.key}
{{- if ne .Values.listeners.client.sslClientAuth "none" }}
ssl.truststore.type: PEM
ssl.truststore.location: /secrets/tls/ca.crt
listener.name.client.ssl.client.auth: {{ .Values.listeners.client.sslClientAuth }}
{{- end }}
{{- end }}
{{- if .Values.sasl.existingSecret }}
sasl.enabled.mechanisms: {{ .Values.sasl.enabledMechanisms | quote }}
{{- if has "PLAIN" (splitList "," .Values.sasl.enabledMechanisms) }}
{{- range $name, $it := $listeners }}
{{- if contains "SASL" $it.protocol }}
listener.name.{{ lower $name }}.plain.sasl.jaas.config: org.apache.kafka.common.security.plain.PlainLoginModule required
  {{- range $.Values.sasl.client.users }} user_{{ . }}="${directory:/secrets/sasl:{{ . }}}"{{ end }};
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "barnabas.properties" -}}
{{- range $key, $value := merge (dict) .Values.overrideConfiguration (include "barnabas.ownConfiguration" . | fromYaml) -}}
{{ $key }}={{ kindIs "string" $value | ternary $value (toJson $value) }}
{{ end }}
{{- end -}}

{{/* The flags of `barnabas serve`. */}}
{{- define "barnabas.flags" -}}
{{- $flags := list -}}
{{- if .Values.secure -}}{{- $flags = append $flags "--secure" -}}
{{- else if include "barnabas.hasHttps" . -}}{{- $flags = append $flags "--http-secure" -}}{{- end -}}
{{- if .Values.sasl.existingSecret -}}
{{- range $mechanism := splitList "," .Values.sasl.enabledMechanisms -}}
{{- if hasPrefix "SCRAM" $mechanism -}}
{{- range $.Values.sasl.client.users -}}
{{- $flags = concat $flags (list "--add-scram" (printf "%s=[name=%s,passwordfile=/secrets/sasl/%s]" $mechanism . .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.provisioning.topics -}}
{{- if not (or .config .records) -}}
{{- $flags = concat $flags (list "--topic" (printf "%s%s" .name (empty .partitions | ternary "" (printf ":%v" .partitions)))) -}}
{{- end -}}
{{- end -}}
{{- if include "barnabas.seed" . -}}{{- $flags = concat $flags (list "--seed" "/mnt/shared/config/seed.json") -}}{{- end -}}
{{- concat $flags .Values.extraFlags | toYaml -}}
{{- end -}}

{{/* The topics with settings or records: a seed, which a new volume gets. */}}
{{- define "barnabas.seed" -}}
{{- $topics := list -}}
{{- range .Values.provisioning.topics -}}
{{- if or .config .records -}}{{- $topics = append $topics (omit . "replicationFactor") -}}{{- end -}}
{{- end -}}
{{- with $topics -}}{{- dict "topics" . | toPrettyJson -}}{{- end -}}
{{- end -}}
