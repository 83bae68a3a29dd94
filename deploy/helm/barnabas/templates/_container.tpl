{{/* The container: the image's own command, with flags; files in place of variables. */}}

{{- define "barnabas.container" -}}
image: {{ include "barnabas.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - /etc/kafka/docker/run
  {{- with include "barnabas.flags" . | fromYamlArray }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
env:
  - name: BARNABAS_HTTP
    value: {{ printf "%s:%v" (ternary "0.0.0.0" "127.0.0.1" .Values.metrics.enabled) .Values.metrics.containerPort }}
  {{- if .Values.registry.enabled }}
  - name: BARNABAS_REGISTRY
    value: {{ printf "0.0.0.0:%v" .Values.registry.containerPort }}
  {{- end }}
  {{- with .Values.clusterId }}
  - name: CLUSTER_ID
    value: {{ . | quote }}
  {{- end }}
  {{- with .Values.extraEnvVars }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
{{- range $name, $it := include "barnabas.listeners" . | fromYaml }}
{{- if ne $name "LOCAL" }}
  - {name: {{ lower $name }}, containerPort: {{ $it.port }}}
{{- end }}
{{- end }}
{{- if .Values.metrics.enabled }}
  - {name: http, containerPort: {{ .Values.metrics.containerPort }}}
{{- end }}
{{- if .Values.registry.enabled }}
  - {name: registry, containerPort: {{ .Values.registry.containerPort }}}
{{- end }}
{{- range $probe := list "startupProbe" "readinessProbe" "livenessProbe" }}
{{- $value := index $.Values $probe }}
{{- if $value.enabled }}
{{ $probe }}:
  {{- include "barnabas.probe" (list $ $probe) | nindent 2 }}
  {{- omit $value "enabled" | toYaml | nindent 2 }}
{{- end }}
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- toYaml .Values.containerSecurityContext | nindent 2 }}
volumeMounts:
  - {name: data, mountPath: {{ .Values.persistence.mountPath }}}
  - {name: configuration, mountPath: /mnt/shared/config, readOnly: true}
  - {name: tmp, mountPath: /tmp}
{{- range $name := list "tls" "sasl" }}
{{- if (index $.Values $name).existingSecret }}
  - {name: {{ $name }}, mountPath: /secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- end }}
{{- end -}}

{{/* How a probe asks. Outside of the pod it is the HTTP port; inside, what the image's own health check does. */}}
{{- define "barnabas.probe" -}}
{{- $context := index . 0 -}}
{{- $probe := index . 1 -}}
{{- if $context.Values.metrics.enabled -}}
httpGet:
  path: {{ ternary "/ready" "/live" (eq $probe "readinessProbe") }}
  port: http
  scheme: {{ include "barnabas.hasHttps" $context | empty | ternary "HTTP" "HTTPS" }}
{{- else if eq $probe "livenessProbe" -}}
tcpSocket:
  port: client
{{- else -}}
exec:
  command: [/etc/kafka/docker/healthcheck]
{{- end -}}
{{- end -}}
