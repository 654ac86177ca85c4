//! Nobody is sent where no client has registered to be: not with a code, not with an error, not after a no
//! (CVE-2025-4143, CVE-2026-42230).

use serde_json::json;

use crate::support::{Asking, Browser, CALLBACK, Stage, approving, server};

/// Redirect URIs that `app` has not registered, however near they come.
const STRANGE: [&str; 32] = [
    "http://127.0.0.1:5000/callback/",
    "http://127.0.0.1:5000/callback/more",
    "http://127.0.0.1:5000/callback?x=1",
    "http://127.0.0.1:5000/callback#x",
    "http://127.0.0.1:5000/callback%2f",
    "http://127.0.0.1:5000/x/../callback",
    "http://127.0.0.1:5000/Callback",
    "http://127.0.0.1:5000/",
    "http://127.0.0.1:5000",
    "https://127.0.0.1:5000/callback",
    "http://127.0.0.2:5000/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://127.0.0.1:5000@evil.example/callback",
    "http://evil.example/callback",
    "https://evil.example/callback",
    "//evil.example/callback",
    "http://localhost:5000/callback",
    "http://[::1]:5000/callback",
    "http://127.1:5000/callback",
    "http://2130706433:5000/callback",
    "http://127.0.0.1:99999/callback",
    "http://127.0.0.1\\@evil.example/callback",
    " http://127.0.0.1:5000/callback",
    "http://127.0.0.1:5000/callback\n",
    "http://127.0.0.1:5000/callback\r\nset-cookie: a=b",
    "HTTP://127.0.0.1:5000/callback",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "app:callback",
    "%",
];

// covers: AUTH-AS-REDIRECT-EXACT, AUTH-AS-UNTRUSTED-REDIRECT
#[tokio::test]
async fn a_redirect_uri_that_is_not_registered_gets_a_page_in_every_branch() {
    for stage in [Stage::new(server()).await, Stage::new(approving()).await] {
        for uri in STRANGE {
            let asking = Asking::new().with("redirect_uri", uri);
            // A good request, and those whose error would be the client's.
            for asking in [
                asking.clone(),
                asking.clone().with("response_type", "token"),
                asking.clone().without("code_challenge"),
                asking.clone().with("scope", "\""),
                asking.clone().with("resource", "x"),
                asking.clone().and("state", "twice"),
            ] {
                let reply = stage.get(&asking.target()).await;
                assert_eq!(reply.status, 400, "{uri:?}");
                assert!(reply.is_page() && !reply.body.contains("<form"), "{uri:?}: {reply:?}");
                assert!(!reply.body.contains("evil.example"), "{uri:?}: it is not linked either");
            }
        }
    }
}

/// On the Internet not even the port may differ.
// covers: AUTH-AS-REDIRECT-EXACT
#[tokio::test]
async fn a_redirect_uri_that_only_begins_like_the_registered_one_gets_a_page() {
    let stage = Stage::new(server()).await;
    let registration =
        json!({ "redirect_uris": ["https://far.example/cb"], "token_endpoint_auth_method": "none" });
    let id = stage.register(&registration).await.text("client_id");
    let asking = Asking::new().with("client_id", &id);
    for rest in ["/", "/more", "?x=1", "2", ".evil.example", "%2f"] {
        let uri = format!("https://far.example/cb{rest}");
        let reply = stage.get(&asking.clone().with("redirect_uri", &uri).target()).await;
        assert!(reply.status == 400 && reply.is_page() && !reply.body.contains("<form"), "{uri}: {reply:?}");
    }
    for uri in ["https://far.example:444/cb", "https://far.example/c", "https://far.example.evil/cb"] {
        let reply = stage.get(&asking.clone().with("redirect_uri", uri).target()).await;
        assert!(reply.status == 400 && reply.is_page() && !reply.body.contains("<form"), "{uri}: {reply:?}");
    }
    let reply = stage.get(&asking.with("redirect_uri", "https://far.example/cb").target()).await;
    assert!(reply.is_page() && reply.body.contains("<form"), "{reply:?}");
}

#[tokio::test]
async fn without_a_client_or_with_two_redirect_uris_there_is_a_page() {
    let stage = Stage::new(approving()).await;
    let cases = [
        Asking::new().without("client_id"),
        Asking::new().with("client_id", "nobody"),
        Asking::new().with("client_id", ""),
        Asking::new().and("client_id", "app"),
        Asking::new().without("redirect_uri"),
        Asking::new().and("redirect_uri", "https://evil.example/"),
        Asking::new().with("redirect_uri", "https://evil.example/").and("redirect_uri", CALLBACK),
    ];
    for asking in cases {
        let reply = stage.get(&asking.target()).await;
        assert!(reply.status == 400 && reply.is_page(), "{}: {reply:?}", asking.target());
    }
    assert_eq!(stage.get(&format!("/authorize?{}", "a".repeat(20_000))).await.status, 414);
}

#[tokio::test]
async fn errors_go_to_the_client_once_both_are_known_to_belong_together() {
    let stage = Stage::new(approving()).await;
    let long = "s".repeat(5000);
    let cases = [
        (Asking::new().with("response_type", "token"), "unsupported_response_type", Some("xyz")),
        (Asking::new().without("response_type"), "invalid_request", Some("xyz")),
        (Asking::new().and("scope", "b"), "invalid_request", Some("xyz")),
        (Asking::new().and("state", "abc"), "invalid_request", None),
        (Asking::new().with("state", &long), "invalid_request", None),
        (Asking::new().with("response_mode", "fragment"), "invalid_request", Some("xyz")),
        (Asking::new().with("request", "e30.e30."), "request_not_supported", Some("xyz")),
        (
            Asking::new().with("request_uri", "https://evil.example/"),
            "request_uri_not_supported",
            Some("xyz"),
        ),
        (Asking::new().without("state").with("resource", "x"), "invalid_target", None),
    ];
    for (asking, error, state) in cases {
        let reply = stage.get(&asking.target()).await;
        assert_eq!(reply.status, 302, "{error}: {reply:?}");
        assert!(reply.header("location").expect("an address").starts_with(&format!("{CALLBACK}?")));
        assert_eq!(reply.parameter("error").as_deref(), Some(error));
        assert_eq!(reply.parameter("state").as_deref(), state, "{error}");
        assert_eq!(reply.parameter("iss"), Some(stage.issuer.clone()));
        assert_eq!(reply.parameter("code"), None);
    }
}

// CVE-2026-42230: the denial was sent to wherever the request said.
#[tokio::test]
async fn a_no_goes_where_a_yes_would_have_gone_and_nowhere_else() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    for decision in ["deny", "", "Allow", "anything"] {
        let page = browser.asked(&Asking::new()).await;
        let (request, token) = (page.field("request"), page.field("token"));
        // What a page was made for cannot be changed by what comes back from it.
        let form = [
            ("request", request.as_str()),
            ("token", &token),
            ("decision", decision),
            ("redirect_uri", "https://evil.example/"),
            ("client_id", "vault"),
            ("state", "other"),
        ];
        let back = browser.submit("/consent", &form).await;
        assert_eq!(back.status, 303);
        assert!(
            back.header("location").expect("an address").starts_with(&format!("{CALLBACK}?")),
            "{back:?}"
        );
        assert_eq!(back.parameter("error").as_deref(), Some("access_denied"), "{decision}");
        assert_eq!(back.parameter("state").as_deref(), Some("xyz"));
        assert_eq!(back.parameter("iss"), Some(stage.issuer.clone()));
        assert_eq!(back.parameter("code"), None);
        browser.cookie = None;
    }
}

// covers: AUTH-AS-AUTO-REDIRECT, AUTH-AS-INFORM-USER
#[tokio::test]
async fn a_browser_is_sent_to_a_stranger_only_when_somebody_says_so() {
    for stage in [Stage::new(server()).await, Stage::new(approving()).await] {
        let registration = json!({
            "redirect_uris": ["https://stranger.example/cb"], "token_endpoint_auth_method": "none", "client_name": "Stranger",
        });
        let id = stage.register(&registration).await.text("client_id");
        let asking = Asking::new().with("client_id", &id).with("redirect_uri", "https://stranger.example/cb");
        // An error is no reason to go there by itself: that would be an open redirector.
        let reply = stage.get(&asking.clone().with("response_type", "token").target()).await;
        assert!(reply.status == 400 && reply.is_page(), "{reply:?}");
        assert!(
            reply.body.contains("href=\"https://stranger.example/cb?error=unsupported_response_type&amp;")
        );
        assert!(reply.body.contains("If you trust <b>stranger.example</b>"), "{reply:?}");
        // Nor is approving everything, which is for programs on this machine.
        let mut browser = Browser::new(&stage);
        let page = browser.asked(&asking).await;
        assert!(
            page.is_page()
                && page.body.contains("stranger.example")
                && page.body.contains("registered itself")
        );
        let back = browser.decide(&page, "allow").await;
        assert!(
            back.header("location").is_some_and(|to| to.starts_with("https://stranger.example/cb?code="))
        );
    }
}
