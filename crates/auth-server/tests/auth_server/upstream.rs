//! Signing in at another issuer: whoever is sent there has agreed to this client here, and comes back in the same browser, once.

use contexture::auth::jwt::{Algorithm, KeySet, verify};
use contexture_auth_server::{AuthServer, Client, Upstream};
use serde_json::json;
use url::Url;

use crate::elsewhere::{COOKIE, Elsewhere, Lies};
use crate::support::{Asking, Browser, CALLBACK, Reply, Stage, redemption, send, server, with};

const SECRET: &str = "our+secret: there";

/// A server whose people sign in at the other stage.
async fn before(upstream: &str) -> Stage {
    Stage::new(server().upstream(Upstream::new(upstream, "proxy", SECRET))).await
}

/// The other issuer, which knows us as one client, and asks nobody.
async fn another() -> Stage {
    let proxy = Client::confidential("proxy", SECRET).redirect("http://127.0.0.1/upstream/callback");
    Stage::new(AuthServer::new().client(proxy).auto_approve("grace")).await
}

fn location(reply: &Reply) -> Url {
    let location = reply.header("location").unwrap_or_else(|| panic!("nowhere to go: {reply:?}"));
    Url::parse(location).expect("an address")
}

fn target(url: &Url) -> String {
    format!("{}?{}", url.path(), url.query().unwrap_or_default())
}

/// Follows to the other issuer; the value is where that sends us.
async fn visit(url: &Url) -> Url {
    let address = url.socket_addrs(|| None).expect("an address")[0];
    location(&send(address, "GET", &target(url), &[("cookie", COOKIE)], "").await)
}

/// Agrees, signs in there, and stands before our callback.
async fn until_callback(browser: &mut Browser<'_>, asking: &Asking) -> Url {
    let page = browser.open(asking).await;
    let away = browser.decide(&page, "allow").await;
    assert_eq!(away.status, 303, "{away:?}");
    visit(&location(&away)).await
}

async fn come_back(browser: &mut Browser<'_>, url: &Url) -> Reply {
    browser.go("GET", &target(url), &[], "").await
}

async fn registered(stage: &Stage) -> Asking {
    let metadata =
        json!({ "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "none" });
    Asking::new().with("client_id", &stage.register(&metadata).await.text("client_id"))
}

fn is_denied(reply: &Reply) -> bool {
    location(reply).as_str().starts_with(&format!("{CALLBACK}?"))
        && reply.parameter("error").as_deref() == Some("access_denied")
        && reply.parameter("state").as_deref() == Some("xyz")
        && reply.parameter("code").is_none()
}

fn is_stopped(reply: &Reply) -> bool {
    reply.status == 403 && reply.is_page()
}

#[tokio::test]
async fn somebody_agrees_here_signs_in_there_and_the_client_gets_a_token_of_ours() {
    let upstream = another().await;
    let stage = before(&upstream.issuer).await;
    let mut browser = Browser::new(&stage);
    let page = browser.open(&Asking::new()).await;
    let there = upstream.address.to_string();
    for shown in ["Allow access?", "The app", "notes:read", "127.0.0.1:5000", &there] {
        assert!(page.is_page() && page.body.contains(shown), "{shown}: {page:?}");
    }
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains(&upstream.issuer), "the form leads there: {policy}");

    let away = browser.decide(&page, "allow").await;
    assert!(location(&away).as_str().starts_with(&format!("{}/authorize?", upstream.issuer)), "{away:?}");
    let expected = [("client_id", "proxy"), ("resource", &stage.issuer), ("code_challenge_method", "S256")];
    for (name, value) in expected {
        assert_eq!(away.parameter(name).as_deref(), Some(value));
    }
    assert_ne!(away.parameter("state").as_deref(), Some("xyz"), "the state is our own");
    assert_ne!(away.parameter("code_challenge").as_deref(), Some(crate::support::CHALLENGE));

    let theirs = visit(&location(&away)).await;
    assert!(theirs.as_str().starts_with(&format!("{}/upstream/callback?", stage.issuer)), "{theirs}");
    let back = come_back(&mut browser, &theirs).await;
    assert_eq!(back.parameter("state").as_deref(), Some("xyz"));
    assert_eq!(back.parameter("iss"), Some(stage.issuer.clone()));
    let code = back.parameter("code").expect("a code");
    assert!(!theirs.as_str().contains(&code), "the code is our own");
    let tokens = stage.redeem(&code).await;
    let keys = KeySet::parse(stage.get("/jwks").await.body.as_bytes()).expect("keys");
    let claims = verify(&tokens.text("access_token"), &keys, &[Algorithm::Es256]).expect("signed by us");
    assert_eq!((&claims["sub"], &claims["iss"]), (&json!("grace"), &json!(stage.issuer)));
    let upstreams = KeySet::parse(upstream.get("/jwks").await.body.as_bytes()).expect("keys");
    assert!(verify(&tokens.text("access_token"), &upstreams, &[Algorithm::Es256]).is_err());
}

// covers: SEC-PROXY-CONSENT
#[tokio::test]
async fn every_client_that_registers_is_agreed_to_here_before_the_upstream_hears_of_it() {
    let elsewhere = Elsewhere::new().await;
    let stage = before(&elsewhere.issuer).await;
    elsewhere.lie(Lies { claims: vec![("aud", json!(stage.issuer))], ..Lies::default() });
    let mut browser = Browser::new(&stage);
    let first = registered(&stage).await;
    let theirs = until_callback(&mut browser, &first).await;
    assert!(come_back(&mut browser, &theirs).await.parameter("code").is_some());

    // The upstream still knows the browser, and would approve without asking.
    let so_far = elsewhere.asked();
    assert!(so_far > 0);
    let second = registered(&stage).await;
    for asking in [&second, &first] {
        let page = browser.open(asking).await;
        assert!(page.status == 200 && page.is_page() && page.body.contains("Allow access?"), "{page:?}");
        assert!(page.body.contains("registered itself"), "{page:?}");
        assert!(is_denied(&browser.decide(&page, "deny").await));
    }
    let page = browser.open(&second).await;
    assert!(is_denied(&browser.decide(&page, "switch").await), "what is not a yes is a no");
    assert_eq!(elsewhere.asked(), so_far, "the upstream was asked nothing");

    let theirs = until_callback(&mut browser, &second).await;
    assert!(elsewhere.asked() > so_far);
    assert!(come_back(&mut browser, &theirs).await.parameter("code").is_some());
}

#[tokio::test]
async fn only_our_page_in_this_browser_sends_anybody_on() {
    let elsewhere = Elsewhere::new().await;
    let stage = before(&elsewhere.issuer).await;
    let (mut browser, mut other) = (Browser::new(&stage), Browser::new(&stage));
    let page = browser.open(&Asking::new()).await;
    let foreign = other.open(&Asking::new()).await.field("token");
    let (request, token) = (page.field("request"), page.field("token"));
    let form = [("request", request.as_str()), ("token", &token), ("decision", "allow")];
    for token in [None, Some(""), Some("guess"), Some(foreign.as_str())] {
        assert!(is_stopped(&browser.submit("/consent", &with(&form, "token", token)).await), "{token:?}");
    }
    for token in [&token, &foreign] {
        assert!(is_stopped(&other.submit("/consent", &with(&form, "token", Some(token))).await));
    }
    assert_eq!(browser.submit_from("https://evil.example", "/consent", &form).await.status, 403);
    assert_eq!(browser.sign_in(&page, "ada").await.status, 404, "nobody signs in here");
    assert_eq!(elsewhere.asked(), 0);
    assert_eq!(browser.submit("/consent", &form).await.status, 303);
    assert!(is_stopped(&browser.submit("/consent", &form).await), "once");
}

#[tokio::test]
async fn a_state_is_good_once_and_in_its_own_browser() {
    let upstream = another().await;
    let stage = before(&upstream.issuer).await;
    let (mut browser, mut other) = (Browser::new(&stage), Browser::new(&stage));
    let theirs = until_callback(&mut browser, &Asking::new()).await;
    let others = until_callback(&mut other, &Asking::new()).await;
    for cookie in [None, other.cookie.clone(), Some("contexture-auth=guess".to_owned())] {
        let mut stranger = Browser { cookie, ..Browser::new(&stage) };
        assert!(is_stopped(&come_back(&mut stranger, &theirs).await));
    }
    for query in ["", "code=x", "state=", "state=guess&code=x", "error=access_denied"] {
        let reply = browser.go("GET", &format!("/upstream/callback?{query}"), &[], "").await;
        assert!(is_stopped(&reply), "{query}");
    }
    let twice = format!("{}&state=x", target(&theirs));
    assert!(is_stopped(&browser.go("GET", &twice, &[], "").await));

    // The code of one browser with the state of another: the verifier is not the one it was asked for with.
    let code = |url: &Url| url.query_pairs().find(|(name, _)| name == "code").expect("a code").1.into_owned();
    let mixed = target(&others).replace(&code(&others), &code(&theirs));
    assert!(is_denied(&other.go("GET", &mixed, &[], "").await));
    assert!(is_stopped(&come_back(&mut other, &others).await), "the state is spent");
}

#[tokio::test]
async fn a_replayed_callback_gets_nothing() {
    let upstream = another().await;
    let stage = before(&upstream.issuer).await;
    let mut browser = Browser::new(&stage);
    let theirs = until_callback(&mut browser, &Asking::new()).await;
    let back = come_back(&mut browser, &theirs).await;
    assert!(is_stopped(&come_back(&mut browser, &theirs).await));
    let code = back.parameter("code").expect("a code");
    assert_eq!(stage.post("/token", &redemption(&code)).await.status, 200, "and takes nothing away");
}

#[tokio::test]
async fn an_upstream_that_promises_to_say_who_it_is_has_to() {
    let upstream = another().await;
    let stage = before(&upstream.issuer).await;
    let mut browser = Browser::new(&stage);
    let mut theirs = until_callback(&mut browser, &Asking::new()).await;
    let pairs: Vec<_> = theirs.query_pairs().into_owned().collect();
    assert!(pairs.iter().any(|(name, _)| name == "iss"), "{pairs:?}");
    let others = pairs.iter().filter(|(name, _)| name != "iss");
    theirs.query_pairs_mut().clear().extend_pairs(others);
    assert!(is_denied(&come_back(&mut browser, &theirs).await));
}

#[tokio::test]
async fn what_goes_wrong_there_is_a_no_here() {
    let elsewhere = Elsewhere::new().await;
    let stage = before(&elsewhere.issuer).await;
    elsewhere.lie(Lies { claims: vec![("aud", json!(stage.issuer))], ..Lies::default() });
    let mut browser = Browser::new(&stage);
    for (change, remove) in [
        ("&error=access_denied", "code=theirs"),
        ("&error=server_error", ""),
        ("", "code=theirs"),
        ("&code=another", ""),
        ("&iss=https://evil.example", ""),
    ] {
        let theirs = until_callback(&mut browser, &Asking::new()).await;
        let changed = target(&theirs).replace(remove, "") + change;
        let reply = browser.go("GET", &changed, &[], "").await;
        assert!(is_denied(&reply), "{change}: {reply:?}");
        assert!(is_stopped(&come_back(&mut browser, &theirs).await), "{change}: the state is spent");
    }
    let theirs = until_callback(&mut browser, &Asking::new()).await;
    let named = format!("{}&iss={}", target(&theirs), elsewhere.issuer);
    assert!(browser.go("GET", &named, &[], "").await.parameter("code").is_some());

    let page = browser.open(&Asking::new()).await;
    drop(elsewhere);
    tokio::task::yield_now().await;
    assert!(is_denied(&browser.decide(&page, "allow").await), "it cannot be reached");
}

#[tokio::test]
async fn who_somebody_is_counts_only_if_the_upstream_signed_it_for_us() {
    let elsewhere = Elsewhere::new().await;
    let stage = before(&elsewhere.issuer).await;
    let mut browser = Browser::new(&stage);
    let claim =
        |name, value| Lies { claims: vec![("aud", json!(stage.issuer)), (name, value)], ..Lies::default() };
    let lies = [
        claim("aud", json!("https://other.example")),
        claim("aud", json!(null)),
        claim("aud", json!("proxy")),
        claim("iss", json!("https://evil.example")),
        claim("exp", json!(1)),
        claim("client_id", json!("another")),
        claim("sub", json!(null)),
        claim("sub", json!("client:app")),
        claim("sub", json!("a\nb")),
        Lies { other_key: true, ..claim("sub", json!("ada")) },
        Lies { kind: Some("JWT"), ..claim("sub", json!("ada")) },
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        elsewhere.lie(lie);
        let theirs = until_callback(&mut browser, &Asking::new()).await;
        let reply = come_back(&mut browser, &theirs).await;
        assert!(is_denied(&reply), "{number}: {reply:?}");
    }
    elsewhere.lie(claim("sub", json!("ada")));
    let theirs = until_callback(&mut browser, &Asking::new()).await;
    assert!(come_back(&mut browser, &theirs).await.parameter("code").is_some(), "the truth is enough");
}

#[tokio::test]
async fn only_those_who_are_users_here_come_in() {
    let upstream = another().await;
    for (user, comes_in) in [("grace", true), ("ada", false)] {
        let config = server().user(user).upstream(Upstream::new(&upstream.issuer, "proxy", SECRET));
        let stage = Stage::new(config).await;
        let mut browser = Browser::new(&stage);
        let theirs = until_callback(&mut browser, &Asking::new()).await;
        let reply = come_back(&mut browser, &theirs).await;
        assert_eq!((reply.parameter("code").is_some(), is_denied(&reply)), (comes_in, !comes_in), "{user}");
    }
}

#[tokio::test]
async fn nothing_can_be_set_up_that_goes_past_the_consent_page() {
    let upstream = || Upstream::new("https://issuer.example", "proxy", SECRET);
    for config in [
        server().upstream(upstream()).auto_approve("ada"),
        server().upstream(upstream()).password("hunter2"),
        server().upstream(Upstream::new("http://issuer.example", "proxy", SECRET)),
        server().upstream(Upstream::new("issuer.example", "proxy", SECRET)),
    ] {
        assert!(!format!("{config:?}").contains(SECRET));
        assert!(config.bind("127.0.0.1:0").await.is_err());
    }
    assert!(server().upstream(upstream()).bind("127.0.0.1:0").await.is_ok());
}
