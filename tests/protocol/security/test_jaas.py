"""Login modules as Java writes them."""

import pytest

from barnabas.protocol.security.jaas import LoginModule, parse_file, parse_modules

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_value_is_a_list_of_modules() -> None:
    text = f"""{PLAIN} required
        username="admin" password='it\\'s "me"'
        // nobody else
        user_alice = secret /* not
        a comment of one line */ user_bob="a;b={{}}";
        Other OPTIONAL;"""
    assert parse_modules(text) == [
        LoginModule(
            PLAIN,
            "required",
            {"username": "admin", "password": 'it\'s "me"', "user_alice": "secret", "user_bob": "a;b={}"},
        ),
        LoginModule("Other", "optional", {}),
    ]


def test_a_file_has_sections() -> None:
    text = f'KafkaServer {{ {PLAIN} required user_a="b"; }};\nexternal.KafkaServer {{ X required; Y required; }};'
    assert {name: [module.name for module in modules] for name, modules in parse_file(text).items()} == {
        "KafkaServer": [PLAIN],
        "external.KafkaServer": ["X", "Y"],
    }


def _options(text: str) -> dict[str, str]:
    (module,) = parse_modules(f"X required {text};")
    return module.options


@pytest.mark.parametrize(
    ("text", "value"),
    [  # as tests/oracle/test_texts_are_javas.py asks Kafka
        (r'"pa$$wo\rd"', "pa$$wo\rd"),
        (r'"\t\n\b\f\v\a\q\8"', "\t\n\b\f\v\aq8"),
        (r'"\101\7z\400"', "A\x07z\x200"),
        ("'a\"b'", 'a"b'),
        ("a-1.b_$c", "a-1.b_$c"),
        ("gr\u00fc\U0001f600", "gr\u00fc\U0001f600"),
        ('"${java.home}"', "${java.home}"),
        ('/* " */ "v" // ;', None),
        ("1", None),
        ("-a", None),
        ("a@b", None),
        ("a*", None),
        ('"a\nb"', None),
        ("/a/path", None),
    ],
)
def test_a_value_is_what_java_cuts_out_of_the_text(text: str, value: str | None) -> None:
    if value is not None:
        assert _options(f"key={text} other = o") == {"key": value, "other": "o"}
    else:
        with pytest.raises(ValueError, match=r"option|the ; at its end|a quote"):
            _options(f"key={text} other = o")


def test_a_quote_that_is_not_closed_ends_with_its_line_and_a_number_is_no_name() -> None:
    assert _options('a="b\n1=c') == {"a": "b"}
    assert _options("a=b /\n c=d\n e=f // g=h\n") == {"a": "b", "e": "f"}  # a single / comments its line end away


def test_a_file_has_properties_and_stars_and_no_single_quotes() -> None:
    text = r"""KafkaServer { a* required b="${name}-${/}-${{name}}x-${" c="\101"; };"""
    (module,) = parse_file(text, {"name": "it"})["KafkaServer"]
    assert module == LoginModule("a*", "required", {"b": "it-/-${{name}}x-${", "c": "A"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no login module"),
        (f"{PLAIN} sometimes;", "comes one of required"),
        (f"{PLAIN} required", f"^{PLAIN}: the ; at its end is missing$"),
        (f'{PLAIN} required password="secret"', f"^{PLAIN}: the ; at its end is missing$"),
        (f'{PLAIN} required password="my"secret"; secret', "^a quote is not closed$"),
        (f"{PLAIN} required password;", "the = of option 1 is missing"),
        (f"{PLAIN} required password=;", "the value of option 1 is missing, or has to be in quotes$"),
        (f"{PLAIN} required password=my@secret;", "the = of option 2 is missing, or its name has to be in quotes$"),
        (f'{PLAIN} required password="secret;', "^a quote is not closed$"),
        (f"{PLAIN} required; secret", "^login module 2: one of required"),
        ("{", "^login module 1: the class of a login module is missing"),
    ],
)
def test_an_invalid_login_module_is_reported_without_its_secrets(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as told:
        parse_modules(text)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A { X required };", "line 1: a login module: the name of option 1 is missing"),
        ("A {\n X required; }", "line 2: the ; at the end of a section is missing"),
        ("A { X required", "line 1: a login module: the name of option 1 is missing"),
        ("A {\r\n\rX required b='c'; };", "line 3: a login module: the value of option 1 is missing, or has to be in"),
        ('A { X required b="c;\n };', "line 1: a quote is not closed"),
        ('A { X required b="${secret}"; };', "line 1: a value has a property of Java's"),
        ('A { X required b="${nothing}"; };', "line 1: the value of a variable is empty"),
        ("A { X required; };\n A { X required; };", "line 2: a section is there twice"),
    ],
)
def test_an_error_in_a_file_is_reported_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}") as told:
        parse_file(text, {"nothing": ""})
    assert "secret" not in str(told.value)
