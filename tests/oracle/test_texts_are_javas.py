"""Properties files, JAAS texts and rules for principals are read as Java and Apache Kafka read them: both are asked."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from barnabas.broker.security.tls.principal_mapping import NoMatchingRule, PrincipalMapper
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.properties import decode
from barnabas.protocol.security.jaas import LoginModule, parse_file, parse_modules
from tests.support.clients.java import run_program

CASES = 1200
REFUSED = "refused"
NOT_HERE = ("half of a surrogate pair", "of its pattern, ", "of its replacement, ")
"""What Java takes, and is refused here."""
PROPERTIES = {"a.property": "what it says", "an.empty.one": ""}
"""Those that the program sets."""
SECTIONS = ("KafkaServer", "a.KafkaServer")
LINES = (
    *("a", "b", "k", "=", ":", " ", "\t", "\f", "\n", "\n", "\r", "\r\n", "\\", "\\", "\\\n", "\\\r\n", "#", "!", "u"),
    *("\\u0041", "\\ud83d\\ude00", "\\u00e", "\\n", "\\t", "\xe9", "\xc3\xa9", "\x85", "\0", "=x\n", "\\:"),
)
SIGNS = (*" \n\r*=;:{}/\\-\x85", "=", "//c", "/*c*/", "/**", "*/", ' user_a="b"', " k=v", " k='v'", '="v"')
WORDS = ("a", "user_b", "x@y", "-1", ".5", "7", "a-1.b", "$c", "\xe9", "\U0001f600", "'s'", "${a.property}", "a\xa0b")
QUOTED = (*("s", r"\t", r"\101\7\400", r"pa$$wo\rd", r"\a\v\8", "a\nb", "\\\n", "\U0001f600", "${a.property}-${/}"),)
EXPANDED = ("${{a}}b", "${{a}}", "${x}", "${a", "${an.empty.one}", "${}", "${${/}}")
VALUES = (*SIGNS, *WORDS, '"', *(f'"{text}"' for text in (*QUOTED, *EXPANDED)))
NAMES = (*["X"] * 9, "a.B", '"q"', "a.B$C", "1", "''")
FLAGS = (*["required"] * 9, "Optional", '"requisite"', "sometimes", "'sufficient'", "")
RULES = ("RULE:", "CN=", "(.*?)", "/", "$1", "/L", "/U", ",", " ", "DEFAULT", "\\/", "\\,", "default", "\n", "\x1f")
PATTERNS = (
    *("(.*)", "(.*?)", ".*", "(a)", "(?<n>b+)", "(?:a|ab)", "(a|B)", "a", "b", "x", " ", "CN=", "[a-z]"),
    *("[^a-c]", ".", "."),
    *(r"\w", r"\d", r"\s", r"\W", r"\D", r"\S", r"\h", r"\v", r"\R", r"\x41", r"\u00e9", r"\0101", r"\cA"),
    *(r"\e", r"\x{1f600}"),
    *("[a-z&&[^b]]", "[a-c&&b-d]", "[^a-z&&[^b]]", "[a[B-C]]", "[]a]", "[a-]", r"[\w&&\D]", "[&a]", "[^]]"),
    "[a-z&&b&&[b-c]]",
    *(r"\p{L}", r"\p{Lu}", r"\P{Ll}", r"\pL", r"\p{Alpha}", r"\p{Punct}", r"\p{IsL}", r"[\p{L}&&[^\p{Lu}]]"),
    r"\p{Upper}",
    *(r"\Qa.b\E", r"\Q1", "(?i)", "(?i:a)", "(?s)", "(?m)", "(?-i)", "(?i)[^a-c]", "(?i)é", "(?i)(a)"),
    *(r"(?i)\p{Lu}", "(?s:.)"),
    *("^", "$", r"\A", r"\Z", r"\z", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a|ab)", "(|a)", "(a(b)?)"),
    *("((a)|b)", "a*b*"),
    *("]", "}", r"\,", r"\.", r"\_", "é", "\U0001f600", "ß", "|", r"(\w+)", "([^,]*)", "(.)", "[A-Za-z ]", "[^ ]"),
)
ODD = (
    *(r"\1", r"\2", r"\k<n>", r"\b", r"\G", r"\q", "(?x)", "(?u)", "[a&&]", "[a&&b&c]", "[a-\\d]", r"[\d-z]"),
    *("(", ")", "[", "{"),
    *("{,2}", "{2,1}", "**", "a{2}{3}", "(a*)*", "(?=a)*", r"\p{InGreek}", r"\xZ", r"\u12", "(?<n>a)(?<n>b)"),
    *("(?<=a+)b", r"\Q$"),
)
REPEATS = (*[""] * 40, *"*+?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0}", "{0,1}?", "{2,}", "{1}+")
REPLACEMENTS = (
    *["$1", "$0", "x", "-"] * 3,
    *("$2", "${n}", "${m}", "$12", "$01", "$3$4", r"\$", r"\\", "$", "É", "@", "ǆ"),
)
PEOPLE = (
    *("ab", "a", "", "aBc1", "CN=ab", "CN=aB,O=é É", "b a\nb", "a\r\n", "éa\u2028", "A.b$1", "a\U0001f600b"),
    *("ßſİ K", "aab b_1"),
)
ENDS = (*[";"] * 9, ";\n", "")


def _drawn(dice: random.Random, pieces: Sequence[str], longest: int) -> str:
    return "".join(dice.choices(pieces, k=dice.randint(1, longest)))


def _properties(dice: random.Random) -> str:
    return _drawn(dice, LINES, 14)


def _option(dice: random.Random) -> str:
    kind = dice.random()
    if kind < 0.2:
        return _drawn(dice, VALUES, 3)
    return f" {dice.choice(VALUES)}=o" if kind < 0.3 else f" o={dice.choice(VALUES)}" if kind < 0.7 else ' p="v"'


def _module(dice: random.Random) -> str:
    options = (_option(dice) for _ in range(dice.randint(0, 3)))
    return f"{dice.choice(NAMES)} {dice.choice(FLAGS)} {''.join(options)}{dice.choice(ENDS)}"


def _modules(dice: random.Random) -> str:
    return "".join(_module(dice) for _ in range(dice.choice((1, 1, 1, 2))))


def _file(dice: random.Random) -> str:
    names = (*SECTIONS, *SECTIONS, '"KafkaServer"', "'a.KafkaServer'", "Other", "other*")
    sections = ((dice.choice(names), _modules(dice), dice.choice(ENDS)) for _ in range(dice.choice((1, 1, 2))))
    return "\n".join(f"{name} {{{modules}}}{end}" for name, modules, end in sections)


def _rules(dice: random.Random) -> str:
    if dice.random() < 0.1:
        return _drawn(dice, RULES, 6)
    pieces = [dice.choice(PATTERNS) + dice.choice(REPEATS) for _ in range(dice.randint(1, 5))]
    if dice.random() < 0.15:
        pieces.insert(dice.randint(0, len(pieces)), dice.choice(ODD))
    pattern = "".join(("(.*?)" if dice.random() < 0.7 else "", *pieces, dice.choice(("", "", ".*"))))
    rule = f"RULE:{pattern}/{_drawn(dice, REPLACEMENTS, 3)}/{dice.choice(('', '', 'L', 'U'))}"
    return rule + dice.choice(("", "", ",DEFAULT", ", RULE:.*/$0/"))


def _ask(questions: Sequence[Sequence[str]]) -> list[list[str]]:
    """What Java answers; a word that stands for a text is decoded."""
    lines = [" ".join([kind, *(word.encode("utf-16-be").hex() for word in words)]) for kind, *words in questions]
    answers = run_program(Path(__file__).with_name("Texts.java"), stdin="\n".join(lines) + "\n").splitlines()
    return [[_text(word) for word in answer.split(" ")] for answer in answers]


def _text(word: str) -> str:
    return bytes.fromhex(word[1:]).decode("utf-16-be", "surrogatepass") if word.startswith("=") else word


def _pairs(words: Iterator[str]) -> object:
    return dict(zip(words, words, strict=True))


def _by_section(words: Iterator[str]) -> object:
    sections: dict[str, list[LoginModule]] = {}
    for section in words:
        name, flag, count = next(words), next(words), int(next(words))
        sections.setdefault(section, []).append(
            LoginModule(name, flag, {next(words): next(words) for _ in range(count)})
        )
    return sections


def _mapped(text: str) -> object:
    mapper = PrincipalMapper(text)
    return [_or_none(mapper, name) for name in PEOPLE]


def _or_none(mapper: PrincipalMapper, name: str) -> str:
    try:
        return mapper.name_of(name)
    except NoMatchingRule:
        return "none"


def _our_file(text: str) -> object:
    sections = parse_file(text, PROPERTIES)
    return {name: sections[name] for name in SECTIONS if sections.get(name)}


KINDS: dict[str, tuple[Callable[[random.Random], str], Callable[[str], object], Callable[[Iterator[str]], object]]] = {
    "properties": (_properties, lambda text: decode(text.encode("iso-8859-1")), _pairs),
    "modules": (_modules, lambda text: {"it": parse_modules(text)}, _by_section),
    "file": (_file, _our_file, _by_section),
    "rules": (_rules, _mapped, list),
}
"""How a text is drawn, what it says here, and what Java's answer says."""


def _has_halves(answer: object) -> bool:
    """Whether Java found nothing between the two halves of a character, and put something in."""
    return isinstance(answer, list) and not all(text.encode(errors="ignore").decode() == text for text in answer)


@pytest.fixture(scope="module")
def asked() -> dict[str, list[tuple[str, list[str]]]]:
    """Texts of each kind, with Java's answers."""
    dice = random.Random(30)
    texts = [(kind, draw(dice)) for kind, (draw, _, _) in KINDS.items() for _ in range(CASES)]
    asked: dict[str, list[tuple[str, list[str]]]] = {kind: [] for kind in KINDS}
    for (kind, text), answer in zip(
        texts, _ask([(kind, text, *PEOPLE * (kind == "rules")) for kind, text in texts]), strict=True
    ):
        asked[kind].append((text, answer))
    return asked


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_says_what_it_says_to_java(kind: str, asked: dict[str, list[tuple[str, list[str]]]]) -> None:
    _, ours, theirs = KINDS[kind]
    for text, (outcome, *words) in asked[kind]:
        expected = REFUSED if outcome == REFUSED else theirs(iter(words))
        try:
            found = ours(text)
        except (DecodeError, ValueError) as wrong:
            if any(sentence in str(wrong) for sentence in NOT_HERE):
                continue
            found = REFUSED
        if not _has_halves(expected):
            assert found == expected, text
