//! Where redirects lead, and where they do not.

use contexture::auth::outbound::{Outbound, Reach, Unfetched};
use serde_json::{Value, json};

use crate::support::{Canary, Names, Played, document, private_address, redirect, reply};

const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

// F01
#[tokio::test]
async fn a_redirect_is_checked_like_any_address() {
    let mut canary = Canary::start().await;
    let port = canary.port;
    let mut targets: Vec<String> = [
        format!("http://0.0.0.0:{port}/"),
        format!("http://0:{port}/"),
        format!("http://[::]:{port}/"),
        format!("http://[::ffff:0.0.0.0]:{port}/"),
        format!("//0.0.0.0:{port}/"),
        format!("\\\\0.0.0.0:{port}/"),
        format!("https://private.example:{port}/"),
        format!("http://here.example:{port}/"),
        format!("http://user:password@127.0.0.1:{port}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://[fd00:ec2::254]/".into(),
        "https://10.0.0.1/".into(),
        "http://8.8.8.8/".into(),
        "file:///etc/passwd".into(),
        "javascript:alert(1)".into(),
        "data:application/json,{}".into(),
    ]
    .into();
    if let Some(own) = private_address() {
        targets.push(format!("http://{own}:{port}/"));
        targets.push(format!("https://{own}:{port}/"));
    }
    let names =
        Names::default().with("private.example", &[&["0.0.0.0"]]).with("here.example", &[&["127.0.0.1"]]);
    for target in targets {
        for status in REDIRECTS {
            let to = target.clone();
            let server = Played::start(move |_| redirect(status, &to)).await;
            let outbound = Outbound::new(Reach::Loopback).resolver(names.clone());
            let error = outbound.get_json::<Value>(&server.at("/"), &[]).await.expect_err("not followed");
            assert!(matches!(error, Unfetched::Forbidden(_)), "{status} {target}: {error:?}");
            assert_eq!(server.requests().len(), 1);
        }
    }
    canary.assert_alone().await;
}

#[tokio::test]
async fn three_redirects_are_followed() {
    for (hops, reached) in [(1, true), (3, true), (4, false)] {
        let server = Played::start(move |request| {
            let at: usize =
                request[5..].split(' ').next().and_then(|path| path.parse().ok()).unwrap_or_default();
            if at == hops { document(r#"{"ok":true}"#) } else { redirect(302, &format!("/{}", at + 1)) }
        })
        .await;
        let result = Outbound::new(Reach::Loopback).get_json::<Value>(&server.at("/0"), &[]).await;
        let expected = if reached { Ok(json!({ "ok": true })) } else { Err(Unfetched::Redirected) };
        assert_eq!(result, expected, "{hops}");
    }
}

// F18
#[tokio::test]
async fn nobody_runs_in_circles() {
    let server = Played::start(|_| redirect(307, "/again")).await;
    let result = Outbound::new(Reach::Loopback).get_json::<Value>(&server.at("/"), &[]).await;
    assert_eq!(result, Err(Unfetched::Redirected));
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_redirect_that_leads_nowhere_is_a_status() {
    let server = Played::start(|_| reply("302 Elsewhere", "", "")).await;
    let result = Outbound::new(Reach::Loopback).get_json::<Value>(&server.at("/"), &[]).await;
    assert_eq!(result, Err(Unfetched::Status(302)));
}

// F11
#[tokio::test]
async fn what_was_posted_goes_to_nobody_else() {
    let mut canary = Canary::start().await;
    for status in REDIRECTS {
        for to in [format!("http://127.0.0.1:{}/token", canary.port), "/elsewhere".into()] {
            let server = Played::start(move |_| redirect(status, &to)).await;
            let outbound = Outbound::new(Reach::Loopback);
            let form = [("grant_type", "authorization_code"), ("code", "hunter2")];
            let posted = outbound.post_form(&server.at("/token"), &form, &[]).await;
            assert_eq!(posted.expect_err("terminal"), Unfetched::Redirected, "{status}");
            let posted = outbound.post_json(&server.at("/register"), &json!({ "a": "hunter2" }), &[]).await;
            assert_eq!(posted.expect_err("terminal"), Unfetched::Redirected, "{status}");
            assert_eq!(server.requests().len(), 2, "nothing is sent twice");
        }
    }
    canary.assert_alone().await;
}

#[tokio::test]
async fn headers_stay_with_the_origin_that_they_are_for() {
    let other = Played::start(|_| document(r#"{"ok":true}"#)).await;
    let to = other.at("/document");
    let server = Played::start(move |request| match request.starts_with("GET /first ") {
        true => redirect(302, "/second"),
        false => redirect(302, &to),
    })
    .await;
    let headers = [("authorization", "Bearer hunter2"), ("x-key", "hunter2")];
    let result = Outbound::new(Reach::Loopback).get_json::<Value>(&server.at("/first"), &headers).await;
    assert_eq!(result, Ok(json!({ "ok": true })));
    assert!(server.requests().iter().all(|request| request.contains("Bearer hunter2")), "the same origin");
    for request in other.requests() {
        assert!(!request.contains("hunter2") && !request.to_lowercase().contains("referer"), "{request}");
    }
}
