//! URI templates: the RFC's vectors, and matching.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use contexture_core::uri_template::{TemplateValue, UriTemplate};

fn values() -> BTreeMap<&'static str, TemplateValue> {
    let list = |items: &[&str]| TemplateValue::List(items.iter().map(|item| (*item).to_owned()).collect());
    let keys = [("semi", ";"), ("dot", "."), ("comma", ",")];
    let pairs = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let texts = [
        ("dub", "me/too"),
        ("hello", "Hello World!"),
        ("half", "50%"),
        ("var", "value"),
        ("who", "fred"),
        ("base", "http://example.com/home/"),
        ("path", "/foo/bar"),
        ("v", "6"),
        ("x", "1024"),
        ("y", "768"),
        ("empty", ""),
    ];
    let mut values: BTreeMap<_, _> = texts.into_iter().map(|(name, text)| (name, text.into())).collect();
    values.insert("count", list(&["one", "two", "three"]));
    values.insert("dom", list(&["example", "com"]));
    values.insert("list", list(&["red", "green", "blue"]));
    values.insert("keys", TemplateValue::Pairs(pairs));
    values.insert("empty_keys", TemplateValue::Pairs(Vec::new()));
    values
}

// covers: RES-TEMPLATE-RFC6570
#[test]
fn vectors_of_the_rfc() {
    let values = values();
    for (template, uri) in [
        ("{count}", "one,two,three"),
        ("{count*}", "one,two,three"),
        ("{/count}", "/one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("O{+empty}X", "OX"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+list*}", "red,green,blue"),
        ("{+keys}", "semi,;,dot,.,comma,,"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
        ("{#var}", "#value"),
        ("{#hello}", "#Hello%20World!"),
        ("{#half}", "#50%25"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{#keys*}", "#semi=;,dot=.,comma=,"),
        ("{.who}", ".fred"),
        ("{.who,who}", ".fred.fred"),
        ("{.half,who}", ".50%25.fred"),
        ("www{.dom*}", "www.example.com"),
        ("X{.empty}", "X."),
        ("X{.undef}", "X"),
        ("X{.var:3}", "X.val"),
        ("X{.list}", "X.red,green,blue"),
        ("X{.list*}", "X.red.green.blue"),
        ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
        ("X{.empty_keys}", "X"),
        ("{/who}", "/fred"),
        ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"),
        ("{/var:1,var}", "/v/value"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
        ("{;who}", ";who=fred"),
        ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;v,bar,who}", ";v=6;who=fred"),
        ("{;hello:5}", ";hello=Hello"),
        ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
        ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?var:3}", "?var=val"),
        ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
        ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
        ("{&list*}", "&list=red&list=green&list=blue"),
        ("ä/%41", "%C3%A4/%41"),
    ] {
        let parsed = UriTemplate::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"));
        assert_eq!(parsed.expand(|name| values.get(name)), uri, "{template}");
    }
}

// covers: RES-TEMPLATE-RFC6570
#[test]
fn errors_say_where() {
    for (template, at) in [
        ("a:{b", 2),
        ("a:b}", 3),
        ("a:{}", 2),
        ("a:{=b}", 3),
        ("a:{b,}", 5),
        ("a:{b-c}", 4),
        ("a:{b c}", 4),
        ("a:{b:0}", 5),
        ("a:{b:10000}", 5),
        ("a:{.b..c}", 6),
        ("a:{b.}", 4),
        ("a: {b}", 2),
        ("a:%4", 2),
        ("a:{b{c}", 4),
    ] {
        let error = UriTemplate::parse(template).expect_err(template);
        assert_eq!(error.at, at, "{template}: {error}");
    }
}

fn captured(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
    let matcher = UriTemplate::parse(template).expect("parses").matcher().expect("can be matched");
    let show = |value| match value {
        TemplateValue::Text(text) => text,
        TemplateValue::List(items) => items.join("|"),
        other => format!("{other:?}"),
    };
    Some(matcher.matches(uri)?.into_iter().map(|(name, value)| (name, show(value))).collect())
}

#[test]
fn matching_gives_back_the_values() {
    for (template, uri, expected) in [
        ("a://{x}", "a://b", "x=b"),
        ("a://{x}/c/{y}", "a://1/c/2", "x=1 y=2"),
        ("a://{x}.json", "a://b.json.json", "x=b.json"),
        ("a://{x}", "a://b%20c%C3%A4", "x=b cä"),
        ("a://{x,y}", "a://1,2", "x=1 y=2"),
        ("f:///{+path}", "f:///a/b/c", "path=a/b/c"),
        ("f:///{+path}.{ext}", "f:///a.b/c.txt", "ext=txt path=a.b/c"),
        ("f:///{dir}/{+path}/raw", "f:///d/raw/a/raw", "dir=d path=raw/a"),
        ("a:{/id*}", "a:/1/2%2C/3", "id=1|2,|3"),
        ("a:{/x,y}", "a:/1/2", "x=1 y=2"),
        ("a:x{.ext}", "a:x.md", "ext=md"),
        ("a:x{;v}", "a:x;v=1", "v=1"),
        ("a:x{?q,r}", "a:x?r=2&q=1%261", "q=1&1 r=2"),
        ("a:x{?q}", "a:x", ""),
        ("a:x{?q*}", "a:x?q=1&q=2", "q=1|2"),
        ("a:x?f=1{&q}", "a:x?f=1&q=2", "q=2"),
        ("a:x?f={f}{&q}", "a:x?f=1&q=2", "f=1 q=2"),
        ("a:x?f=1{&q}", "a:x?f=1", ""),
        ("a:{x}{#f}", "a:b#c", "f=c x=b"),
        ("a:{x:3}", "a:abc", "x=abc"),
        ("a:b", "a:b", ""),
    ] {
        let captured = captured(template, uri).unwrap_or_else(|| panic!("{template} does not match {uri}"));
        let shown: Vec<String> =
            captured.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown.join(" "), expected, "{template} {uri}");
    }
}

#[test]
fn captures_stay_where_they_stand() {
    for (template, uri) in [
        ("a://{x}", "a://b/c"),
        ("a://{x}", "a://b%2fc"),
        ("a://{x}", "a://b%5Cc"),
        ("a://{x}", "a://.."),
        ("a://{x}", "a://%2e%2e"),
        ("a://{x}", "a://b?c"),
        ("a://{x}", "a://b#c"),
        ("a://{x}", "a://b%00"),
        ("a://{x}", "a://%ff"),
        ("a://{x}", "a://"),
        ("a://{x}", "b://c"),
        ("a://{x:2}", "a://abc"),
        ("f:///{+path}", "f:///a/../b"),
        ("f:///{+path}", "f:///a/%2e%2e/b"),
        ("f:///{+path}", "f:///a/%252e%252e/b"),
        ("f:///{+path}", "f:///..%5cb"),
        ("f:///{+path}", "f:////etc/passwd"),
        ("f:///{+path}", "f:///%2Fetc/passwd"),
        ("a:{/id*}", "a:/1/2%2F3"),
        ("a:{/id*}", "a:/1/../3"),
        ("a:x{?q}", "a:x?r=1"),
        ("a:x{?q}", "a:x?q=1&q=2"),
        ("a:x{?q}", "a:xy?q=1"),
    ] {
        assert_eq!(captured(template, uri), None, "{template} {uri}");
    }
}

#[test]
fn ambiguous_templates_cannot_be_matched() {
    for template in ["{a}{b}", "{+a}/{+b}", "{+a}{/b*}", "{x}/{x}", "{?q}/x", "{#f}{?q}", "{;x*}"] {
        assert!(UriTemplate::parse(template).expect("parses").matcher().is_err(), "{template}");
    }
}

#[test]
fn matching_is_linear() {
    let many: String = (0..10_000).map(|n| format!("/{{v{n}}}")).collect();
    let long = "a".repeat(1 << 20);
    let commas = format!("/{}", ",".repeat(50_000));
    let queries: String = (0..10_000).map(|n| format!("{}q{n}*", if n == 0 { "" } else { "," })).collect();
    let repeated = format!("a:?{}", "q9999=1&".repeat(100_000).trim_end_matches('&'));
    for (template, uri) in [
        ("{/id*}".to_owned(), commas),
        (format!("a:{many}"), format!("a:{}", "/x".repeat(10_000))),
        (format!("a:{many}"), format!("a:{}", "/".repeat(1 << 20))),
        ("a:{x}b{y}b{z}b".to_owned(), format!("a:{long}")),
        ("a:{x}aab{y}".to_owned(), format!("a:{long}")),
        ("a:{+x}aab{y}".to_owned(), format!("a:{long}")),
        ("a:{+x}".to_owned(), format!("a:{}", "%25".repeat(300_000))),
        (format!("a:{{?{queries}}}"), repeated),
    ] {
        let matcher = UriTemplate::parse(&template).expect("parses").matcher().expect("can be matched");
        let start = Instant::now();
        let _ = matcher.matches(&uri);
        // Far above what it takes, far below what anything quadratic would, even without optimization.
        assert!(start.elapsed() < Duration::from_secs(2), "{:.40}: {:?}", template, start.elapsed());
    }
}
