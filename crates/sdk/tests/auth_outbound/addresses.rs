//! Which addresses are reached.

use contexture::auth::outbound::{Outbound, Reach, Unfetched};
use serde_json::{Value, json};

use crate::support::{Canary, Names, Played, document, private_address};

/// Hosts that lead to this machine, in every spelling that some parser knows.
const HERE: [&str; 33] = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7F.1",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.1",
    "017700000001",
    "0000177.0.0.1",
    "%31%32%37.0.0.1",
    "１２７.0.0.1",
    "①②⑦.⓪.⓪.①",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "LocalHost",
    "ⓛocalhost",
    "loc%61lhost",
    "any.localhost",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:7f00:0001]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
];

/// Hosts that lead nowhere that anybody outside may send us to, not even from this machine.
const NEVER: [&str; 35] = [
    "0",
    "0.0.0.0",
    "0x0",
    "[::]",
    "[::ffff:0.0.0.0]",
    "10.0.0.1",
    "167772161",
    "0xa.1",
    "012.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "0xc0a80101",
    "169.254.169.254",
    "169.254.169.254.",
    "2852039166",
    "0xA9FEA9FE",
    "0251.0376.0251.0376",
    "169.16689662",
    "100.64.0.1",
    "100.100.100.200",
    "198.18.0.1",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[2002:a9fe:a9fe::]",
    "[2001::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
];

fn assert_forbidden(result: Result<Value, Unfetched>, url: &str) {
    match result {
        Err(Unfetched::Forbidden(_)) => {}
        other => panic!("{url}: {other:?}"),
    }
}

// F01
#[tokio::test]
async fn a_stranger_sends_us_nowhere_but_to_the_public_internet() {
    let mut canary = Canary::start().await;
    let outbound = Outbound::new(Reach::Public);
    for host in HERE.iter().chain(&NEVER) {
        for scheme in ["https", "http", "HTTPS"] {
            let url = format!("{scheme}://{host}:{}/metadata", canary.port);
            assert_forbidden(outbound.get_json(&url, &[]).await, &url);
            let posted = outbound.post_form(&url, &[("token", "x")], &[]).await.map(|_| Value::Null);
            assert_forbidden(posted, &url);
            let posted = outbound.post_json(&url, &json!({}), &[]).await.map(|_| Value::Null);
            assert_forbidden(posted, &url);
        }
    }
    canary.assert_alone().await;
}

// F01: what a server on this machine names may be on this machine, but still not next to it.
#[tokio::test]
async fn a_server_on_this_machine_does_not_send_us_into_its_networks() {
    let mut canary = Canary::start().await;
    let outbound = Outbound::new(Reach::Loopback);
    let own = private_address().map(|address| address.to_string());
    let translated = ["[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[::127.0.0.1]"];
    for host in NEVER.iter().copied().chain(own.as_deref()).chain(translated) {
        for scheme in ["https", "http"] {
            let url = format!("{scheme}://{host}:{}/metadata", canary.port);
            assert_forbidden(outbound.get_json(&url, &[]).await, &url);
        }
    }
    canary.assert_alone().await;
}

// F01: private networks, where somebody has allowed them, are neither this machine nor its link nor anything unencrypted.
#[tokio::test]
async fn whoever_allows_private_networks_allows_nothing_else() {
    let mut canary = Canary::start().await;
    let outbound = Outbound::new(Reach::Private);
    let private =
        ["10.0.0.1", "167772161", "0xa.1", "012.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"];
    let private = [&private[..], &["0xc0a80101", "[fd00:ec2::254]"]].concat();
    for host in HERE.iter().chain(&NEVER) {
        let schemes = if private.contains(host) { &["http"][..] } else { &["http", "https"] };
        for scheme in schemes {
            let url = format!("{scheme}://{host}:{}/metadata", canary.port);
            assert_forbidden(outbound.get_json(&url, &[]).await, &url);
        }
    }
    canary.assert_alone().await;
}

// F01
#[tokio::test]
async fn a_name_is_as_good_as_what_it_leads_to() {
    let mut canary = Canary::start().await;
    for addresses in [
        &["127.0.0.1"][..],
        &["::1"],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["0.0.0.0"],
        &["8.8.8.8", "127.0.0.1"],
        &["2606:4700:4700::1111", "fd00::1", "8.8.8.8"],
    ] {
        for name in
            ["metadata.example", "metadata.google.internal", "127.0.0.1.nip.example", "xn--bcher-kva.example"]
        {
            let names = Names::default().with(name, &[addresses]);
            let outbound = Outbound::new(Reach::Public).resolver(names.clone());
            let url = format!("https://{name}:{}/", canary.port);
            let error = outbound.get_json::<Value>(&url, &[]).await.expect_err("not reached");
            assert!(matches!(&error, Unfetched::Forbidden(why) if why.starts_with(name)), "{url}: {error:?}");
            assert_eq!(names.asked(name), 1);
        }
    }
    canary.assert_alone().await;
}

// F01: the name may mean something else a moment later.
#[tokio::test]
async fn a_name_is_looked_up_once_and_never_again_for_the_same_connection() {
    let mut canary = Canary::start().await;
    let names = Names::default()
        .with("kept.example", &[&["127.0.0.1"], &["10.0.0.1"]])
        .with("flips.example", &[&["10.0.0.1"], &["127.0.0.1"]]);
    let outbound = Outbound::new(Reach::Loopback).resolver(names.clone());

    let url = format!("https://kept.example:{}/", canary.port);
    let error = outbound.get_json::<Value>(&url, &[]).await.expect_err("the canary speaks no TLS");
    assert!(matches!(error, Unfetched::Unreachable(_)), "{error:?}");
    assert_eq!(names.asked("kept.example"), 1, "what was checked is what was connected");
    canary.assert_found().await;
    assert_forbidden(outbound.get_json(&url, &[]).await, &url);

    let url = format!("https://flips.example:{}/", canary.port);
    assert_forbidden(outbound.get_json(&url, &[]).await, &url);
    assert_eq!(names.asked("flips.example"), 1, "a refusal is not asked about again");
    canary.assert_alone().await;
}

#[tokio::test]
async fn this_machines_names_are_nobodys_to_define() {
    let names = Names::default().with("localhost", &[&["8.8.8.8"]]).with("a.localhost", &[&["8.8.8.8"]]);
    let server = Played::start(|_| document(r#"{"ok":true}"#)).await;
    let outbound = Outbound::new(Reach::Loopback).resolver(names.clone());
    for name in ["localhost", "a.localhost", "localhost."] {
        let url = server.at("/").replace("127.0.0.1", name);
        assert_eq!(outbound.get_json::<Value>(&url, &[]).await, Ok(json!({ "ok": true })), "{url}");
    }
    assert_eq!(names.asked("localhost") + names.asked("a.localhost"), 0);
}

// covers: AUTH-COMM-SECURITY
#[tokio::test]
async fn only_this_machine_is_reached_without_tls() {
    let names =
        Names::default().with("named.example", &[&["127.0.0.1"]]).with("public.example", &[&["8.8.8.8"]]);
    let outbound = Outbound::new(Reach::Loopback).resolver(names.clone());
    for url in ["http://named.example/", "http://public.example/", "http://8.8.8.8/"] {
        assert_forbidden(outbound.get_json(url, &[]).await, url);
    }
    assert_eq!(names.asked("named.example") + names.asked("public.example"), 0);
}

#[tokio::test]
async fn what_is_no_address_is_not_tried() {
    let long = format!("https://public.example/{}", "x".repeat(10_000));
    for reach in [Reach::Public, Reach::Loopback] {
        let outbound =
            Outbound::new(reach).resolver(Names::default().with("public.example", &[&["127.0.0.1"]]));
        for url in [
            "",
            "/",
            "public.example",
            "//public.example",
            "https://",
            "https:///",
            "javascript:alert(1)",
            "data:application/json,{}",
            "file:///etc/passwd",
            "ftp://public.example/",
            "gopher://127.0.0.1:6379/_INFO",
            "unix:///var/run/docker.sock",
            "https://user@public.example/",
            "https://user:password@public.example/",
            "https://public.example@127.0.0.1/",
            "https://public.example\\@127.0.0.1/",
            "https://public.example/a b",
            "https://public.exam\nple/",
            "https://public.example/\r\nHost: evil",
            " https://public.example/",
            "https://[::1",
            "https://[fe80::1%25eth0]/",
            "https://1.2.3.4.5/",
            "https://256.0.0.1/",
            "https://public.example:99999/",
            &long,
        ] {
            assert_forbidden(outbound.get_json(url, &[]).await, url);
        }
    }
}

#[test]
fn how_far_somebody_may_send_us_depends_on_where_they_are() {
    for url in [
        "http://127.0.0.1:8000/mcp",
        "http://localhost/",
        "https://[::1]/",
        "http://127.1/",
        "http://a.localhost./",
    ] {
        assert_eq!(Reach::of(url), Reach::Loopback, "{url}");
    }
    for url in [
        "https://h.example/mcp",
        "http://10.0.0.1/",
        "http://0.0.0.0/",
        "https://localhost.evil/",
        "",
        "localhost",
    ] {
        assert_eq!(Reach::of(url), Reach::Public, "{url}");
    }
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_not_forbidden() {
    let outbound = Outbound::new(Reach::Public).resolver(Names::default());
    let error = outbound.get_json::<Value>("https://nobody.example/", &[]).await.expect_err("no such name");
    assert!(matches!(&error, Unfetched::Unreachable(why) if why.contains("no such name")), "{error:?}");
    let outbound = outbound.resolver(Names::default().with("nobody.example", &[&[]]));
    let error = outbound.get_json::<Value>("https://nobody.example/", &[]).await.expect_err("no address");
    assert!(matches!(error, Unfetched::Unreachable(_)), "{error:?}");
}
