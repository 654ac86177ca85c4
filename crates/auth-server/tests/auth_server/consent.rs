//! Who agrees: the one who was asked, in the browser where they were asked, each time (CVE-2026-27124).

use serde_json::json;

use crate::support::{Asking, Browser, Stage, approving, send, server};

#[tokio::test]
async fn another_browser_cannot_answer() {
    let stage = Stage::new(server()).await;
    let (mut asked, mut other) = (Browser::new(&stage), Browser::new(&stage));
    let page = asked.asked(&Asking::new()).await;
    let others = other.asked(&Asking::new().with("state", "other")).await;
    let (request, token) = (page.field("request"), page.field("token"));
    let foreign = others.field("token");
    for (token, cookie) in
        [(&token, &other.cookie), (&foreign, &other.cookie), (&foreign, &asked.cookie), (&token, &None)]
    {
        let mut browser = Browser { cookie: cookie.clone(), ..Browser::new(&stage) };
        let form = [("request", request.as_str()), ("token", token), ("decision", "allow")];
        let reply = browser.submit("/consent", &form).await;
        assert!(reply.status == 403 && reply.is_page(), "{reply:?}");
        let reply =
            browser.submit("/login", &[("request", &request), ("token", token), ("name", "mallory")]).await;
        assert!(reply.status == 403 && reply.is_page(), "{reply:?}");
    }
    assert!(asked.decide(&page, "allow").await.parameter("code").is_some(), "the right one still can");
}

#[tokio::test]
async fn a_page_of_another_site_cannot_answer() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.asked(&Asking::new()).await;
    let (request, token) = (page.field("request"), page.field("token"));
    let form = [("request", request.as_str()), ("token", &token), ("decision", "allow")];
    for origin in ["https://evil.example", "null", "http://127.0.0.1", &format!("https://{}", stage.address)]
    {
        assert_eq!(browser.submit_from(origin, "/consent", &form).await.status, 403, "{origin}");
    }
    for missing in ["request", "token"] {
        let form: Vec<_> = form.iter().copied().filter(|(name, _)| *name != missing).collect();
        assert_eq!(browser.submit("/consent", &form).await.status, 403, "{missing}");
    }
    assert_eq!(browser.submit("/consent", &form).await.status, 303);
}

#[tokio::test]
async fn a_question_is_answered_once() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.asked(&Asking::new()).await;
    assert_eq!(browser.decide(&page, "allow").await.status, 303);
    for decision in ["allow", "deny"] {
        let again = browser.decide(&page, decision).await;
        assert!(again.status == 403 && again.is_page(), "{decision}: {again:?}");
    }
}

#[tokio::test]
async fn signing_in_is_remembered_and_agreeing_is_not() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.asked(&Asking::new()).await;
    assert_eq!(browser.decide(&page, "allow").await.status, 303);
    let page = browser.open(&Asking::new()).await;
    assert!(page.is_page() && page.body.contains("Allow access?"), "{page:?}");
    let page = browser.decide(&page, "switch").await;
    assert!(page.body.contains("Sign in"), "{page:?}");
    let page = browser.sign_in(&page, "grace").await;
    assert!(page.body.contains("grace") && !page.body.contains("ada"), "{page:?}");
    assert!(browser.decide(&page, "allow").await.parameter("code").is_some());
}

#[tokio::test]
async fn a_second_client_that_registers_is_stopped_at_the_consent_page_although_the_first_was_approved() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let registration =
        json!({ "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "none" });
    let first = stage.register(&registration).await.text("client_id");
    let page = browser.asked(&Asking::new().with("client_id", &first)).await;
    assert!(browser.decide(&page, "allow").await.parameter("code").is_some());
    let second = stage.register(&registration).await.text("client_id");
    let page = browser.open(&Asking::new().with("client_id", &second)).await;
    assert!(page.status == 200 && page.is_page(), "no code and no redirect: {page:?}");
    assert!(page.body.contains("Allow access?") && page.body.contains(&second), "{page:?}");
}

#[tokio::test]
async fn nobody_agrees_without_having_signed_in() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.open(&Asking::new()).await;
    let reply = browser.decide(&page, "allow").await;
    assert!(reply.is_page() && reply.body.contains("Sign in"), "{reply:?}");
}

#[tokio::test]
async fn the_cookie_is_another_after_signing_in() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.open(&Asking::new()).await;
    let set = page.header("set-cookie").expect("a cookie").to_owned();
    assert!(set.contains("; HttpOnly; SameSite=Lax"), "{set}");
    let planted = browser.cookie.clone();
    let signed_in = browser.sign_in(&page, "ada").await;
    assert_ne!(browser.cookie, planted);
    assert_ne!(page.field("token"), signed_in.field("token"));
    let mut attacker = Browser { cookie: planted, ..Browser::new(&stage) };
    assert!(attacker.open(&Asking::new()).await.body.contains("Sign in"), "what was planted is nobody's");
}

#[tokio::test]
async fn names_and_the_password_are_checked() {
    let stage = Stage::new(server().user("ada").password("hunter2")).await;
    let mut browser = Browser::new(&stage);
    let page = browser.open(&Asking::new()).await;
    assert!(page.body.contains("Development password"));
    let (request, token) = (page.field("request"), page.field("token"));
    let attempts =
        [("ada", ""), ("ada", "wrong"), ("grace", "hunter2"), ("", "hunter2"), ("client:app", "hunter2")];
    for (name, password) in attempts {
        let form = [("request", request.as_str()), ("token", &token), ("name", name), ("password", password)];
        let reply = browser.submit("/login", &form).await;
        assert!(reply.status == 403 && reply.body.contains("role=alert"), "{name}: {reply:?}");
        assert!(!reply.body.contains("hunter2"));
    }
    let form = [("request", request.as_str()), ("token", &token), ("name", "ada"), ("password", "hunter2")];
    assert!(browser.submit("/login", &form).await.body.contains("Allow access?"));

    let mut guesser = Browser::new(&stage);
    let page = guesser.open(&Asking::new()).await;
    for _ in 0..10 {
        guesser.sign_in(&page, "ada").await;
    }
    let over = guesser.sign_in(&page, "ada").await;
    assert!(over.status == 403 && !over.body.contains("<form"), "{over:?}");
}

#[tokio::test]
async fn approving_everything_is_said_on_every_page() {
    let stage = Stage::new(approving()).await;
    let sentence = "approves requests without asking anybody";
    for target in ["/", "/authorize"] {
        assert!(stage.get(target).await.body.contains(sentence), "{target}");
    }
    let asking = Stage::new(server()).await;
    assert!(!asking.get("/").await.body.contains(sentence));
}

#[tokio::test]
async fn cookies_of_others_are_not_ours() {
    let stage = Stage::new(server()).await;
    let name = format!("contexture-auth-{}", stage.address.port());
    for cookie in
        ["", "a", "a=b", &format!("{name}=guess"), &format!("x{name}=a; {name}="), &"a=b; ".repeat(500)]
    {
        let reply = send(stage.address, "GET", &Asking::new().target(), &[("cookie", cookie)], "").await;
        assert_eq!(reply.status, 200, "{cookie}");
        assert!(reply.header("set-cookie").is_some() && reply.body.contains("Sign in"), "{cookie}");
    }
}
