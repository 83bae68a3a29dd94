"""ssl.principal.mapping.rules, by the examples of Apache Kafka's own SslPrincipalMapperTest, and where Java differs."""

import pytest

from barnabas.broker.security.tls.principal_mapping import NoMatchingRule, PrincipalMapper

RULES = ", ".join(
    (
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L",
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
        "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U",
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
        "DEFAULT",
    )
)


@pytest.mark.parametrize(
    ("name", "mapped"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        ("cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"),
        ("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    ],
)
def test_the_first_rule_that_matches_decides(name: str, mapped: str) -> None:
    assert PrincipalMapper(RULES).name_of(name) == mapped


@pytest.mark.parametrize(
    "rules",
    [
        "default",
        "DEFAUL",
        "DEFAULT/L",
        "DEFAULT/U",
        "RULE:CN=(.*?),OU=ServiceUsers.*/$1",
        "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/L",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/LU",
        "RULE:^CN=(.*?$/$1/",
    ],
)
def test_a_rule_that_is_none_is_refused(rules: str) -> None:
    with pytest.raises(ValueError, match="Invalid rule"):
        PrincipalMapper(rules)


@pytest.mark.parametrize("rules", ["", ",   , , ,      , , ,   "])
def test_without_a_rule_no_name_is_mapped(rules: str) -> None:
    with pytest.raises(NoMatchingRule, match="No rules apply to CN=a"):
        PrincipalMapper(rules).name_of("CN=a")


def test_a_rule_has_to_match_the_whole_name() -> None:
    with pytest.raises(NoMatchingRule):
        PrincipalMapper("RULE:CN=([a-z]+)/$1/").name_of("CN=a,O=b")


@pytest.mark.parametrize(
    ("rule", "name", "mapped"),
    [
        (r"RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/", r"CN=Tkac\, Adam,OU=ITZ,DC=geodis,DC=cz", r"Tkac\, Adam"),
        ("RULE:^CN=(a)(b)$/$2$1$3/", "CN=ab", "ba$3"),  # there is no third group
        ("RULE:^CN=(a)(b)$/$12/", "CN=ab", "a2"),
        ("RULE:^CN=(a)$/$0/", "CN=a", "CN=a"),
        (r"RULE:^CN=(a)$/\$1/", "CN=a", "$1"),
        ("RULE:^CN=(a)(b)?$/$1-$2/", "CN=a", "a-"),
        ("RULE:^CN=(.*)$/x-$1/U", "CN=straße", "X-STRASSE"),
    ],
)
def test_references_are_javas(rule: str, name: str, mapped: str) -> None:
    assert PrincipalMapper(rule).name_of(name) == mapped


@pytest.mark.parametrize(
    ("rule", "name", "mapped"),
    [  # as tests/oracle/test_texts_are_javas.py asks Kafka
        (r"RULE:^CN=(\w+),.*$/$1/", "CN=jos\u00e9,O=x", None),
        (r"RULE:^CN=([^,]*\d).*$/$1/", "CN=a\u0663", None),
        (r"RULE:CN=(\w+)\s.*/$1/", "CN=a\xa0b", None),
        ("RULE:CN=([a-z&&[^d]]+)/$1/", "CN=abc", "abc"),
        ("RULE:CN=([a-z&&[^d]]+)/$1/", "CN=abd", None),
        ("RULE:CN=(?<name>[^,]+),.*/${name}@x/", "CN=a,O=b", "a@x"),
        (r"RULE:CN=(\p{L}+)\d/$1/", "CN=J\u00f6rg1", "J\u00f6rg"),
        (r"RULE:\QCN=a.b\E(.*)/x$1/", "CN=a.b,O=c", "x,O=c"),
        (r"RULE:\QCN=a.b\E(.*)/x$1/", "CN=aXb,O=c", None),
        ("RULE:(?i)cn=(duk\u00e9).*/$1/", "CN=DUK\u00e9", "DUK\u00e9"),
        ("RULE:(?i)cn=(duk\u00e9).*/$1/", "CN=DUK\u00c9", None),
        ("RULE:CN=(.*)$/$1/", "CN=a\r\n", None),
        ("RULE:CN=(?s)(.*)$/$1/", "CN=a\n", "a\n"),
        ("RULE:.*/x/", "CN=a", "xx"),
        ("RULE:a|ab/x/", "ab", "xb"),
        ("RULE:|a/x/", "a", "xax"),
        ("RULE:CN=(a)/${1}/", "CN=a", ValueError),
        ("RULE:CN=(a)/$x/", "CN=a", ValueError),
        ("RULE:CN=(a)/$/", "CN=a", ValueError),
        ("RULE:CN=(a)/$2$3/", "CN=a", ValueError),  # Kafka starts, and turns away everybody whom the rule is for
        ("RULE:CN=a/$1/", "CN=a", ValueError),
        ("RULE:CN=(a)/$2/", "CN=a", "$2"),
        (r"RULE:\bCN=(a)/$1/", "CN=a", ValueError),
        ("RULE:(?<=N+)=(a)/$1/", "CN=a", ValueError),
        ("RULE:(a*)*/$1/", "a", ValueError),
        ("RULE:(a)++b|.*/$1/", "a", ValueError),
        ("RULE:(?=(a))ab|.*/$1/", "a", ValueError),
        (r"RULE:\R{2}/$0/", "\r\n", ValueError),
        (r"RULE:\p{InGreek}/$0/", "a", ValueError),
        ("RULE:CN=(?u)(a)/$1/", "CN=a", ValueError),
    ],
)
def test_patterns_are_javas_or_refused(rule: str, name: str, mapped: str | type[ValueError] | None) -> None:
    if mapped is ValueError:
        with pytest.raises(
            ValueError, match=r"^Invalid rule: `RULE:.*`: of its (pattern, (at|it)|replacement, )"
        ) as told:
            PrincipalMapper(rule)
        assert str(told.value).count("\n") == 0
    elif mapped is None:
        with pytest.raises(NoMatchingRule):
            PrincipalMapper(rule).name_of(name)
    else:
        assert PrincipalMapper(rule).name_of(name) == mapped
