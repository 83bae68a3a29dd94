{{/* Values that contradict each other: one sentence, and nothing is installed. */}}

{{- define "barnabas.check" -}}
{{- range $check := list "node" "ports" "persistence" "protocols" "secure" "external" "metrics" "registry" "topics" "configuration" -}}
{{- with include (printf "barnabas.check.%s" $check) $ | trim -}}{{- fail . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "barnabas.check.node" -}}
{{- if ne (int .Values.replicaCount) 1 -}}
replicaCount is {{ .Values.replicaCount }}, but Barnabas is one node and does not replicate: set it to 1.
{{- end -}}
{{- end -}}

{{- define "barnabas.check.ports" -}}
{{- $ports := list .Values.metrics.containerPort -}}
{{- if .Values.registry.enabled -}}{{- $ports = append $ports .Values.registry.containerPort -}}{{- end -}}
{{- range .Values.listeners -}}{{- $ports = append $ports .containerPort -}}{{- end -}}
{{- if ne (len $ports) (len (uniq $ports)) -}}
Two of the container ports of listeners, metrics and registry are the same: change one of them.
{{- end -}}
{{- end -}}

{{- define "barnabas.check.persistence" -}}
{{- with .Values.persistence -}}
{{- $claimed := list -}}
{{- range $name := list "size" "storageClass" -}}
{{- if index $.Values.persistence $name -}}{{- $claimed = append $claimed $name -}}{{- end -}}
{{- end -}}
{{- if and (not .enabled) .existingClaim -}}
persistence.enabled is false, but persistence.existingClaim names a volume: remove one of them.
{{- else if and (not .enabled) $claimed -}}
persistence.enabled is false, but persistence.{{ first $claimed }} describes a volume: remove one of them.
{{- else if and .existingClaim $claimed -}}
persistence.existingClaim names a volume that exists, but persistence.{{ first $claimed }} describes a new one: remove one of them.
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "barnabas.check.protocols" -}}
{{- $protocols := include "barnabas.protocols" . | trim | splitList " " | uniq | sortAlpha -}}
{{- $hasTls := include "barnabas.hasTls" . -}}
{{- $hasSasl := include "barnabas.hasSasl" . -}}
{{- if .Values.secure -}}
{{- else if and $hasTls (not .Values.tls.existingSecret) -}}
A listener has the protocol {{ last $protocols }}, but tls.existingSecret names no secret with tls.crt and tls.key.
{{- else if and $hasSasl (not .Values.sasl.existingSecret) -}}
A listener has the protocol {{ $protocols | join " " | regexFind "SASL\\w+" }}, but sasl.existingSecret names no secret with the users' passwords.
{{- else if and $hasSasl (not .Values.sasl.client.users) -}}
A listener has the protocol {{ $protocols | join " " | regexFind "SASL\\w+" }}, but sasl.client.users is empty, so that no client could log in.
{{- else if and .Values.tls.existingSecret (not $hasTls) -}}
tls.existingSecret is set, but no listener has the protocol SSL or SASL_SSL: set listeners.client.protocol.
{{- else if and (or .Values.sasl.existingSecret .Values.sasl.client.users) (not $hasSasl) -}}
sasl.existingSecret or sasl.client.users is set, but no listener has the protocol SASL_SSL or SASL_PLAINTEXT: set listeners.client.protocol.
{{- else if and (ne .Values.listeners.client.sslClientAuth "none") (not (contains "SSL" .Values.listeners.client.protocol)) -}}
listeners.client.sslClientAuth is {{ .Values.listeners.client.sslClientAuth }}, but the protocol {{ .Values.listeners.client.protocol }} has no certificates.
{{- end -}}
{{- end -}}

{{- define "barnabas.check.secure" -}}
{{- if .Values.secure -}}
{{- $values := .Values -}}
{{- if ne (include "barnabas.protocols" . | trim | splitList " " | uniq | join " ") "PLAINTEXT" -}}
secure is true and makes every listener SASL_SSL, but a listener has a protocol of its own: remove one of them.
{{- else if or .Values.tls.existingSecret .Values.sasl.existingSecret .Values.sasl.client.users -}}
secure is true, so the broker makes its certificate and users itself, but tls or sasl names a secret or users: remove one of them.
{{- else if not .Values.persistence.enabled -}}
secure is true, but persistence.enabled is false, so that each start would make another authority and other passwords: use a volume, or secrets of your own.
{{- else if ne (get .Values.podSecurityContext "fsGroupChangePolicy") "OnRootMismatch" -}}
secure is true, but podSecurityContext.fsGroupChangePolicy is not OnRootMismatch, so that others could write the broker's key after a restart.
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "barnabas.check.external" -}}
{{- with .Values.externalAccess -}}
{{- if and (not .enabled) (or .service.domain .service.nodePorts .service.loadBalancerIPs) -}}
externalAccess.enabled is false, but externalAccess.service has an address: remove one of them.
{{- else if not .enabled -}}
{{- else if and .service.domain .service.loadBalancerIPs -}}
externalAccess.service has a domain and loadBalancerIPs, but clients get one address: remove one of them.
{{- else if and (eq .service.type "NodePort") .service.loadBalancerIPs -}}
externalAccess.service.loadBalancerIPs is set, but the type is NodePort: set externalAccess.service.domain to the address of a node.
{{- else if not (or .service.domain .service.loadBalancerIPs) -}}
externalAccess.enabled is true, but externalAccess.service.domain does not say by which host clients reach the broker.
{{- else if and (eq .service.type "NodePort") (not .service.nodePorts) -}}
externalAccess.service.type is NodePort, but externalAccess.service.nodePorts does not say which port clients get: set one of 30000 to 32767.
{{- else if and (eq .service.type "LoadBalancer") .service.nodePorts -}}
externalAccess.service.nodePorts is set, but the type is LoadBalancer: remove one of them.
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "barnabas.check.metrics" -}}
{{- $isLoginWithoutTls := and (include "barnabas.hasSasl" .) (not (include "barnabas.hasTls" .)) -}}
{{- if and .Values.metrics.enabled $isLoginWithoutTls -}}
Clients have to log in, but without a TLS listener the HTTP port, which shows records, is open: set metrics.enabled to false, or use SASL_SSL.
{{- else if and .Values.metrics.enabled (eq .Values.listeners.client.sslClientAuth "required") -}}
listeners.client.sslClientAuth is required, but the kubelet's probes of the HTTP port have no certificate: set metrics.enabled to false.
{{- else if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
metrics.serviceMonitor.enabled is true, but metrics.enabled is false, so that nothing can be scraped.
{{- else if and .Values.metrics.serviceMonitor.enabled (include "barnabas.hasHttps" .) (not .Values.metrics.serviceMonitor.basicAuth) -}}
The HTTP port requires a login, but metrics.serviceMonitor.basicAuth names no secret with a user and a password.
{{- end -}}
{{- end -}}

{{- define "barnabas.check.registry" -}}
{{- if and .Values.registry.enabled (include "barnabas.hasSasl" .) (not (include "barnabas.hasTls" .)) -}}
Clients have to log in, but without a TLS listener the schema registry is open: set registry.enabled to false, or use SASL_SSL.
{{- else if and .Values.registry.enabled (eq .Values.listeners.client.sslClientAuth "required") (not (include "barnabas.hasSasl" .)) -}}
Clients need a certificate, but without users the schema registry is open: set registry.enabled to false, or use SASL_SSL.
{{- end -}}
{{- end -}}

{{- define "barnabas.check.topics" -}}
{{- $names := list -}}
{{- range .Values.provisioning.topics -}}
{{- if has .name $names -}}
provisioning.topics has the topic {{ .name }} twice.{{ "\n" }}
{{- else if gt (int (.replicationFactor | default 1)) 1 -}}
provisioning.topics wants {{ .replicationFactor }} replicas of {{ .name }}, but Barnabas is one node: remove replicationFactor.{{ "\n" }}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- end -}}

{{- define "barnabas.check.configuration" -}}
{{- $own := include "barnabas.ownConfiguration" . | fromYaml -}}
{{- range $key, $_ := .Values.overrideConfiguration -}}
{{- if hasKey $own $key -}}
overrideConfiguration sets {{ $key }}, which follows from other values of the chart: remove it there.{{ "\n" }}
{{- end -}}
{{- end -}}
{{- end -}}
