"""Secured servers, Apache Kafka and Barnabas, with the same settings under Kafka's names.

There is a listener for each requested protocol, named as the protocol is; one with another name speaks SSL. Two
of those have certificates that a client has to refuse. PLAIN and both kinds of SCRAM are enabled, and OAUTHBEARER, with
unsecured tokens, on request. A client over PLAINTEXT is ANONYMOUS, a super user: so tests prepare what
they need.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from tests.support.certificates import Authority, Issued
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.kafka.process import KafkaProcess
from tests.support.ports import unused_port
from tests.support.processes.own_broker import OwnBroker

PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL = "PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL"
EXPIRED, ELSEWHERE = "EXPIRED", "ELSEWHERE"
"""Listeners of SSL with certificates that a client has to refuse."""
PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
MECHANISMS = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512")
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ADMIN = "admin"
STORE_PASSWORD = "store-password-of-a-test"
_COMMON = "org.apache.kafka.common.security"
_SCRAM_MODULE = f"{_COMMON}.scram.ScramLoginModule"
_MODULES = {
    PLAIN: f"{_COMMON}.plain.PlainLoginModule",
    OAUTHBEARER: f"{_COMMON}.oauthbearer.OAuthBearerLoginModule",
}


def password_of(user: str) -> str:
    return f"{user}-secret"


class Ways(TypedDict, total=False):
    """Of coming in.

    listeners: beside PLAINTEXT; users: those with a password for PLAIN, beside ADMIN, a super user; scram_users:
    those with one for both kinds of SCRAM from the start; authority: the issuer of the certificates, with TLS.
    """

    listeners: Iterable[str]
    users: Iterable[str]
    scram_users: Iterable[str]
    mechanisms: Iterable[str]
    authority: Authority
    has_authorizer: bool


class Security:
    """Of one server: its ports, its settings, its certificates, and the settings of its clients."""

    def __init__(self, directory: Path, **ways: Unpack[Ways]) -> None:
        """directory: gets the stores with certificates."""
        self.ports = {name: unused_port() for name in (PLAINTEXT, *ways.get("listeners", (SASL_PLAINTEXT,)))}
        self.mechanisms = tuple(ways.get("mechanisms", MECHANISMS))
        self.has_tls = any("SSL" in self.protocol_of(name) for name in self.ports)
        self._users = tuple(dict.fromkeys((ADMIN, *ways.get("users", ()))))
        self._scram_users = tuple(ways.get("scram_users", ()))
        self._has_authorizer = ways.get("has_authorizer", True)
        self._directory = directory
        if self.has_tls:
            self.authority = ways.get("authority") or Authority()
            directory.mkdir(parents=True, exist_ok=True)
            self.trusted = self.authority.write(directory / "authority.pem")

    @staticmethod
    def protocol_of(listener: str) -> str:
        return listener if listener in (PLAINTEXT, SASL_PLAINTEXT, SASL_SSL) else SSL

    def flags(self) -> Iterator[str]:
        """What a directory is formatted with: the users of SCRAM."""
        for user in self._scram_users:
            for mechanism in MECHANISMS[1:]:
                yield from ("--add-scram", f"{mechanism}=[name={user},password={password_of(user)}]")

    def settings(self) -> dict[str, object]:
        addresses = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        found: dict[str, object] = {
            "listeners": addresses,
            "advertised.listeners": addresses,
            "listener.security.protocol.map": ",".join(f"{name}:{self.protocol_of(name)}" for name in self.ports),
            "inter.broker.listener.name": PLAINTEXT,
            "sasl.enabled.mechanisms": ",".join(self.mechanisms),
        }
        if self._has_authorizer:
            supers = f"User:ANONYMOUS;User:{ADMIN};User:CN={ADMIN}"
            found |= {"authorizer.class.name": AUTHORIZER, "super.users": supers}
        for name in self.ports:
            if name.startswith("SASL"):
                found |= self._logins(f"listener.name.{name.lower()}.")
        return found | (self._stores() if self.has_tls else {})

    def _logins(self, prefix: str) -> dict[str, object]:
        known = " ".join(f'user_{user}="{password_of(user)}"' for user in self._users)
        users = {PLAIN: f" {known}"}
        return {
            f"{prefix}{each.lower()}.sasl.jaas.config": f"{_module(each)} required{users.get(each, '')};"
            for each in self.mechanisms
        }

    def _stores(self) -> dict[str, object]:
        """PKCS12, all with one password; SSL wants a certificate of the client's, too."""
        found: dict[str, object] = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": self._stored(self.authority.issue("server"), "server"),
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.key.password": STORE_PASSWORD,
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": self._trusted_by_password(),
            "ssl.truststore.password": STORE_PASSWORD,
            "listener.name.ssl.ssl.client.auth": "required",
        }
        odd = {
            EXPIRED: self.authority.issue("expired", is_expired=True),
            ELSEWHERE: self.authority.issue("elsewhere", ["kafka.example"]),
        }
        for name in self.ports.keys() & odd.keys():
            place = f"listener.name.{name.lower()}.ssl.keystore.location"
            found[place] = self._stored(odd[name], name.lower())
        return found

    def _stored(self, issued: Issued, name: str) -> Path:
        return issued.write_pkcs12(self._directory / f"{name}.p12", STORE_PASSWORD)

    def _trusted_by_password(self) -> Path:
        return self.authority.write_pkcs12(self._directory / "trusted.p12", STORE_PASSWORD)

    def client_properties(self, user: str, mechanism: str = PLAIN, password: str | None = None) -> dict[str, str]:
        """The settings of a Java client for SASL_SSL, or by SASL_PLAINTEXT where there is no TLS."""
        login = f'username="{user}" password="{password_of(user) if password is None else password}"'
        if mechanism == OAUTHBEARER:
            login = f'unsecuredLoginStringClaim_sub="{user}"'
        found = {
            "security.protocol": SASL_SSL if self.has_tls else SASL_PLAINTEXT,
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{_module(mechanism)} required {login};",
        }
        trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.trusted)} if self.has_tls else {}
        return found | trusted

    def mutual_properties(self, name: str = "client") -> dict[str, str]:
        """The same by SSL, for a client with the certificate of this name; all stores are PKCS12."""
        own = self._stored(self.authority.issue(name), name)
        found = {"security.protocol": SSL}
        for kind, path in (("truststore", self._trusted_by_password()), ("keystore", own)):
            found |= {f"ssl.{kind}.type": "PKCS12", f"ssl.{kind}.location": str(path)}
            found[f"ssl.{kind}.password"] = STORE_PASSWORD
        return found


class SecuredKafka(KafkaProcess):
    """Apache Kafka; `port` is that of PLAINTEXT, `ports` has those of all listeners."""

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, object] | None = None,
        *,
        flags: Sequence[str] = (),
        version: str = KAFKA_VERSION,
        **ways: Unpack[Ways],
    ) -> None:
        self.security = Security(data_dir.parent, **ways)
        secured, self.ports = self.security.settings(), self.security.ports
        super().__init__(data_dir, settings, version=version, format_arguments=(*self.security.flags(), *flags))
        self.port, self.controller_port = self.ports[PLAINTEXT], unused_port()
        secured["listeners"] = f"{secured['listeners']},CONTROLLER://127.0.0.1:{self.controller_port}"
        secured["listener.security.protocol.map"] = f"CONTROLLER:PLAINTEXT,{secured['listener.security.protocol.map']}"
        self.settings = secured | self.settings

    def allow_url(self, url: str) -> None:
        """Let it fetch keys of tokens there, as KAFKA_OPTS does."""
        self._jvm_options += (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}",)


class SecuredBroker(OwnBroker):
    """Barnabas, secured in the same way. It reads its settings from a file: they hold passwords."""

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, object] | None = None,
        *,
        flags: Sequence[str] = (),
        **ways: Unpack[Ways],
    ) -> None:
        self.security = Security(data_dir.parent, **ways)
        self.ports = self.security.ports
        super().__init__(
            data_dir, self.security.settings() | dict(settings or {}), flags=(*self.security.flags(), *flags)
        )
        self.port = self.ports[PLAINTEXT]

    def command(self) -> list[str]:
        program = super().command()
        path = self.data_dir.with_name(f"{self.data_dir.name}.properties")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{key}={value}\n" for key, value in self.settings.items()))
        path.chmod(0o600)
        place = ["--data-dir", str(self.data_dir), "--config", str(path)]
        return [*program[: program.index("serve") + 1], *place, *self._flags]

    def port_of(self, ready_line: str) -> int:
        return self.port


SecuredServer = SecuredKafka | SecuredBroker


def secured_kind(against: str) -> type[SecuredKafka] | type[SecuredBroker]:
    """What the option `--against` names."""
    return SecuredKafka if against == "kafka" else SecuredBroker


def _module(mechanism: str) -> str:
    return _MODULES.get(mechanism, _SCRAM_MODULE)
