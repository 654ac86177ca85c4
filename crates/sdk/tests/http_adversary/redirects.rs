//! Servers that send their clients elsewhere: nothing leaves for another origin.

use contexture::Error;

use crate::support::{LEGACY, MODERN, Rude, SECRET, calls, client, setup, whole, within};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

fn elsewhere(canary: &Rude) -> Vec<String> {
    let port = canary.port;
    vec![
        format!("http://127.0.0.1:{port}/mcp"),
        format!("http://localhost:{port}/mcp"),
        format!("//127.0.0.1:{port}/mcp"),
        format!("\\\\127.0.0.1:{port}\\mcp"),
        format!("https://127.0.0.1:{port}/mcp"),
        format!("http://user:pass@127.0.0.1:{port}/mcp"),
        format!("HTTP://127.0.0.1:{port}/"),
        format!("http://2130706433:{port}/mcp"),
        format!("ws://127.0.0.1:{port}/"),
        format!("ftp://127.0.0.1:{port}/"),
        "file:///etc/passwd".to_owned(),
        "unix:/tmp/socket".to_owned(),
        "javascript:alert(1)".to_owned(),
        "data:application/json,{}".to_owned(),
        "http://".to_owned(),
        "http://[::1".to_owned(),
        "\u{e9}".to_owned(),
        "".to_owned(),
    ]
}

/// B31, B32, CVE-2026-64684: while a tool is called, with everything that a redirect could carry along.
#[tokio::test]
async fn cve_2026_64684_headers_follow_no_redirect() {
    for revision in [MODERN, LEGACY] {
        let canary = Rude::canary().await;
        for status in STATUSES {
            for target in elsewhere(&canary) {
                let location = target.clone();
                let (rude, client) =
                    calls(revision, move |_| whole(status, &[("location", &location)], b"{}")).await;
                let end = within(client.call("t", ())).await;
                assert!(end.is_err(), "B31 {revision} {status} {target}: {end:?}");
                let text = end.expect_err("an error").to_string();
                assert!(!text.contains(SECRET) && !text.contains("pass@"), "B31: {text}");
                assert!(rude.count("POST", "tools/call") <= 5, "B31 {target}: bounded");
            }
        }
        assert!(canary.untouched(), "B31 {revision}: {:?}", canary.heard());
    }
}

/// Every other request, too: the probe, the handshake, what follows it, the stream, the end.
#[tokio::test]
async fn every_request_stays_at_home() {
    let canary = Rude::canary().await;
    for (verb, method) in [
        ("POST", "server/discover"),
        ("POST", "initialize"),
        ("POST", "notifications/initialized"),
        ("GET", ""),
        ("DELETE", ""),
    ] {
        for status in STATUSES {
            let revision = if method == "server/discover" { MODERN } else { LEGACY };
            let location = canary.url();
            let rude = Rude::start(revision, move |heard| {
                let it_is = heard.verb == verb && heard.method() == method;
                it_is.then(|| whole(status, &[("location", &location)], b""))
            })
            .await;
            let connected = within(setup(revision).connect(rude.url())).await;
            if let Ok(client) = connected {
                let _ = within(client.call("t", ())).await;
                within(client.close()).await;
            } else {
                assert_eq!(verb, "POST", "B31: only what is needed for a connection may fail it");
            }
        }
    }
    assert!(canary.untouched(), "B31: {:?}", canary.heard());
}

/// B32: around in circles, and from one place to the next.
#[tokio::test]
async fn circles_and_chains() {
    for revision in [MODERN, LEGACY] {
        for status in [307, 308] {
            let (rude, client) = calls(revision, move |_| whole(status, &[("location", "/mcp")], b"")).await;
            let end = within(client.call("t", ())).await;
            assert!(end.is_err(), "B32 {revision}: {end:?}");
            assert!(rude.count("POST", "tools/call") <= 10, "B32: {}", rude.count("POST", "tools/call"));

            let (rude, client) = calls(revision, move |heard| {
                let next = format!("{}x", heard.path);
                whole(status, &[("location", &next)], b"")
            })
            .await;
            let end = within(client.call("t", ())).await;
            assert!(end.is_err(), "B32 {revision}: {end:?}");
            assert!(rude.count("POST", "tools/call") <= 10, "B32: {}", rude.count("POST", "tools/call"));
        }
    }
}

/// URLs that are none of ours are refused before anything is done.
#[tokio::test]
async fn addresses_that_are_none() {
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "unix:/tmp/x",
        "ws://127.0.0.1:1/",
        "http://",
        "mcp",
        "",
        "http://[::1",
    ] {
        let end = within(setup(MODERN).connect(url.to_owned())).await;
        assert!(matches!(end, Err(Error::Misuse(_))), "B32 {url}: {end:?}");
    }
}

/// The older transport: where to post is said by the server, and must be the server.
#[tokio::test]
async fn endpoints_of_others() {
    let canary = Rude::canary().await;
    for target in
        elsewhere(&canary).into_iter().filter(|target| target.contains("127.0.0.1") || target.contains(':'))
    {
        let data = target.clone();
        let rude = Rude::start("2024-11-05", move |heard| match heard.verb.as_str() {
            "GET" => Some(crate::support::Act::Stall(
                [
                    crate::support::head(200, &[("content-type", "text/event-stream")]),
                    format!("event: endpoint\ndata: {data}\n\n").into_bytes(),
                ]
                .concat(),
            )),
            _ => Some(whole(404, &[], b"")),
        })
        .await;
        let end = within(setup("2024-11-05").connect(rude.url())).await;
        assert!(end.is_err(), "B31 {target}: {end:?}");
    }
    assert!(canary.untouched(), "B31: {:?}", canary.heard());
}

/// What was said to stay here is said to this server only, also when it is reached again.
#[tokio::test]
async fn secrets_are_sent_where_they_belong() {
    let rude = Rude::start(MODERN, |_| None).await;
    let client = client(MODERN, &rude).await;
    within(client.call("t", ())).await.expect("fine");
    let told = rude.heard();
    assert!(told.iter().all(|heard| heard.header("x-api-key") == Some(SECRET)), "{told:?}");
}
