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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no login module"),
        (f"{PLAIN} sometimes;", "comes one of required"),
        (f"{PLAIN} required", f"^{PLAIN}: the ; at its end is missing$"),
        (f'{PLAIN} required password="secret"', f"^{PLAIN}: the ; at its end is missing$"),
        (f'{PLAIN} required password="secret" ="secret";', "an option of .* is missing"),
        (f"{PLAIN} required password;", "a = is missing"),
        (f"{PLAIN} required password=;", "the value of password is missing"),
        (f'{PLAIN} required password="secret;', "a quote is not closed"),
        ("{", "the class of a login module is missing"),
    ],
)
def test_what_is_no_module_is_told_without_its_secrets(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as told:
        parse_modules(text)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "what"), [("A { X required };", "X"), ("A { X required; }", "section A"), ("A { X required", "X")]
)
def test_the_end_that_is_missing_in_a_file_is_named(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=f"^{what}: the ; at its end is missing$"):
        parse_file(text)


def test_a_section_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="is there twice"):
        parse_file("A { X required; }; A { X required; };")
