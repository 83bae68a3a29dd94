"""SASL listeners: what has to be set, where users are told, and what is refused because it would have no effect."""

from pathlib import Path

import pytest

from barnabas.broker.config import BrokerConfig, ConfigError, load_config
from barnabas.broker.config.environment import read_environment
from barnabas.broker.config.load import LoadedConfig
from barnabas.broker.config.sasl.sasl_settings import ListenerSaslSettings, sasl_settings
from barnabas.broker.security.sasl.unsecured_tokens import rules_in

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
LISTENER = ["listeners=SASL_PLAINTEXT://127.0.0.1:0"]
JAAS = f'listener.name.sasl_plaintext.plain.sasl.jaas.config={PLAIN} username="admin" password="x" user_alice="secret";'
ENABLED = [*LISTENER, "sasl.enabled.mechanisms=PLAIN", JAAS]


def settings_of(*settings: str, name: str = "SASL_PLAINTEXT", jaas: str | None = None) -> ListenerSaslSettings:
    return sasl_settings(load(*settings, jaas=jaas).config, name)


def load(*settings: str, jaas: str | None = None, options: str = "") -> LoadedConfig:
    if jaas is not None:
        options = f"-Xmx1G -Djava.security.auth.login.config=/etc/jaas.conf {options}"
    return load_config(
        settings=settings,
        environment=read_environment({"KAFKA_OPTS": options}),
        read_file=lambda path: {"/etc/jaas.conf": jaas or ""}[path].encode(),
    )


def test_a_listener_has_mechanisms_users_and_limits() -> None:
    loaded = load(*ENABLED)
    assert loaded.warnings == []
    found = sasl_settings(loaded.config, "SASL_PLAINTEXT")
    assert found.mechanisms == ("PLAIN",)
    assert found.plain_users == {"alice": "secret"}
    assert (found.frame_bytes_max, found.failure_delay_ms, found.reauth_ms) == (524288, 100, {"PLAIN": 0})
    assert "secret" not in repr(found)


def test_a_listener_and_a_mechanism_have_settings_of_their_own() -> None:
    found = settings_of(
        "listeners=INSIDE://127.0.0.1:0",
        "listener.security.protocol.map=INSIDE:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms=GSSAPI",
        "listener.name.inside.sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN",
        f'listener.name.inside.plain.sasl.jaas.config={PLAIN} user_bob="b";',
        "connections.max.reauth.ms=60000",
        "listener.name.inside.scram-sha-512.connections.max.reauth.ms=1000",
        "listener.name.inside.sasl.server.max.receive.size=4096",
        "connection.failed.authentication.delay.ms=0",
        name="INSIDE",
    )
    assert found[:2] == (("SCRAM-SHA-512", "PLAIN"), {"bob": "b"})
    assert found[2:] == (4096, 0, {"SCRAM-SHA-512": 1000, "PLAIN": 60000}, rules_in({}), None)


def test_users_are_found_in_the_file_that_kafka_opts_names() -> None:
    file = f'KafkaServer {{ {SCRAM} {PLAIN} user_a="1"; }}; sasl_plaintext.KafkaServer {{ {PLAIN} user_b="2"; }};'
    enabled = "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256"
    assert settings_of(*LISTENER, enabled, jaas=file).plain_users == {"b": "2"}
    other = ["listeners=OUT://127.0.0.1:0", "listener.security.protocol.map=OUT:SASL_PLAINTEXT", enabled]
    assert settings_of(*other, name="OUT", jaas=file).plain_users == {"a": "1"}
    assert settings_of(*LISTENER, enabled, JAAS, jaas=file).plain_users == {"alice": "secret"}


def test_a_file_has_the_properties_of_kafka_opts() -> None:
    file = f'KafkaServer {{ {PLAIN} user_a="${{a.password}}${{/}}" user_b="pa$$wo\\rd"; }};'
    config = load(
        *LISTENER, "sasl.enabled.mechanisms=PLAIN", jaas=file, options="-Da.password=x -Da.password=s=3"
    ).config
    assert sasl_settings(config, "SASL_PLAINTEXT").plain_users == {"a": "s=3/", "b": "pa$$wo\rd"}
    with pytest.raises(ConfigError, match=r"jaas.conf is not a JAAS file: line 1: a value has a property of Java's"):
        load(*LISTENER, "sasl.enabled.mechanisms=PLAIN", jaas=file.replace("a.password", "java.home"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("-Dlog4j2.x=y\t-Djava.security.egd=z\n", None),
        ("-javaagent:/opt/jmx.jar=7071:/x.yml -Xmx1G -XX:+UseG1GC --add-opens java.base/java=ALL", 1),
        ('-Da="my secret password"', 2),
        ('-Da="my -secret" \xa0', 2),
    ],
)
def test_words_of_kafka_opts_that_have_no_effect_are_reported_once_without_what_may_be_secret(
    options: str, told: int | None
) -> None:
    options_named = "--add-opens, -XX, -Xmx, -javaagent, 1 word that is not an option"
    named = options_named if told == 1 else f"{told} words that are"
    warnings = load(options=options).warnings
    assert len(warnings) == (told is not None)
    assert all(f"no effect here: of KAFKA_OPTS {named}" in warning and "secret" not in warning for warning in warnings)


def test_scram_needs_no_login_module() -> None:
    assert settings_of(*LISTENER, "sasl.enabled.mechanisms=SCRAM-SHA-256").plain_users == {}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (LISTENER, "listener SASL_PLAINTEXT requires GSSAPI .* set sasl.enabled.mechanisms to some of PLAIN"),
        ([*LISTENER, "sasl.enabled.mechanisms="], "has no SASL mechanism"),
        ([*LISTENER, "sasl.enabled.mechanisms=plain"], "names plain, which this broker does not support"),
        ([*LISTENER, "sasl.enabled.mechanisms=PLAIN"], "offers PLAIN but has no users: set listener.name"),
        ([*ENABLED[:2], f"{JAAS} {SCRAM}"], "has 2 login modules, and should have 1"),
        ([*ENABLED[:2], JAAS.replace("PlainLogin", "OtherLogin")], "has no org.apache.kafka.*PlainLoginModule"),
        ([*ENABLED[:2], JAAS[:-2]], "jaas.config: a quote is not closed"),
        ([*ENABLED, "connections.max.idle.ms=100"], "must be less than connections.max.idle.ms 100"),
        (
            [*ENABLED, "listener.name.sasl_plaintext.plain.sasl.server.callback.handler.class=x.Y"],
            "names a class that this broker cannot load",
        ),
        ([*ENABLED, "principal.builder.class=x.Y"], "requires a class that builds principals"),
        ([*ENABLED, "listener.name.sasl_plaintext.principal.builder.class=x.Y"], "a class that builds principals"),
    ],
)
def test_an_unservable_configuration_refuses_to_start_without_showing_secrets(
    settings: list[str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        load(*settings)
    assert "secret" not in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("-Djavax.net.ssl.trustStore=/x", "KAFKA_OPTS: -Djavax.net.ssl.trustStore has no effect"),
        ("-Djava.security.krb5.conf=/etc/krb5.conf", "-Djava.security.krb5.conf has no effect"),
        ("-Djava.security.auth.login.config=", "names no file"),
    ],
)
def test_an_option_of_javas_security_without_effect_refuses_to_start(options: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load(options=options)


def test_other_options_of_java_are_not_looked_at() -> None:
    assert load(options="-Djava.security.egd=file:/dev/./urandom -Djavax.net.debug=ssl").warnings == []
    assert load(options="-Dcom.sun.management.jmxremote -Dlog4j2.configurationFile=/x").warnings == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (f'KafkaServer {{ {PLAIN} user_a="secret }};', "jaas.conf is not a JAAS file: line 1: a quote is not closed"),
        (f"KafkaServer {{ {SCRAM} }};", "KafkaServer has no org.apache.kafka.*PlainLoginModule"),
        (f'KafkaClient {{ {PLAIN} user_a="secret"; }};', "offers PLAIN but has no users"),
    ],
)
def test_a_file_that_does_not_fit_refuses_to_start(content: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        load(*LISTENER, "sasl.enabled.mechanisms=PLAIN", jaas=content)
    assert "secret" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    environment = read_environment({"KAFKA_OPTS": f"-Djava.security.auth.login.config={tmp_path}/none"})
    with pytest.raises(ConfigError, match=f"KAFKA_OPTS: {tmp_path}/none cannot be read: No such file"):
        load_config(settings=ENABLED, environment=environment, read_file=lambda path: Path(path).read_bytes())
    assert load_config(environment=environment).config.login_modules == {}


def test_login_modules_for_no_one_in_particular_are_ignored_as_in_kafka() -> None:
    (warning,) = load(*ENABLED, f'sasl.jaas.config={PLAIN} user_x="secret";').warnings
    assert warning == "sasl.jaas.config is ignored, as in Kafka: its name begins with listener.name.NAME.MECHANISM."


def test_tokens_that_nobody_signed_are_warned_of_loudly() -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
    name = "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config"
    options = 'unsecuredLoginStringClaim_sub="x" unsecuredValidatorRequiredScope="kafka"'
    loaded = load(*LISTENER, "sasl.enabled.mechanisms=OAUTHBEARER", f"{name}={module} {options};")
    (warning,) = loaded.warnings
    assert warning.startswith("NOT SECURE: listener SASL_PLAINTEXT accepts unsigned OAUTHBEARER tokens")
    assert sasl_settings(loaded.config, "SASL_PLAINTEXT").unsecured_tokens.required_scope == ("kafka",)


def test_settings_about_other_brokers_have_no_effect() -> None:
    loaded = load(
        *ENABLED, "sasl.mechanism.inter.broker.protocol=PLAIN", "security.inter.broker.protocol=SASL_PLAINTEXT"
    )
    assert all(warning.startswith("no effect here: ") for warning in loaded.warnings)


def test_passwords_are_sensitive() -> None:
    from barnabas.broker.config.broker_config import find_key

    key = find_key("listener.name.x.plain.sasl.jaas.config")
    assert key is not None
    assert key.is_sensitive
    assert isinstance(BrokerConfig({"listener.name.x.plain.sasl.jaas.config": "y"}).static, dict)
