//! Links in wrong hands, answers from elsewhere, and callers whom nobody vouches for.

use contexture::Client;
use contexture::auth::MemoryStore;
use contexture::revision::Revision;
use contexture_host::config::{Login, LoginFor};
use contexture_host::login::Logins;
use std::sync::Arc;

use crate::browser::{Browser, between};
use crate::stage::{Gateway, Stage, Wishes, all, answered, entry, log_in, who};

/// A link that was made for ada.
async fn link(stage: &Stage, client: &Client) -> String {
    let error = answered(who(client).await);
    let data = error.data.expect("data");
    let link = data["elicitations"][0]["url"].as_str().expect("a link").to_owned();
    assert_eq!(all(&stage.seen), Vec::<String>::new());
    link
}

async fn ada(stage: &Stage) -> Client {
    stage.client(Wishes::of("ada", Revision::V2025_11_25)).await
}

#[tokio::test]
async fn a_link_that_was_sent_on_opens_nothing() {
    let stage = Stage::new().await;
    let client = ada(&stage).await;
    let link = link(&stage, &client).await;
    let mut ben = Browser::of("ben");
    let page = ben.open(&link).await;
    assert!(page.status == 403 && page.page.contains("made for somebody else"), "{page:?}");
    assert!(!page.page.contains("agree"), "{page:?}");
    assert!(ben.visited.iter().all(|url| !url.starts_with(&stage.far_issuer)), "sent on");
    let error = answered(who(&client).await);
    assert!(error.message.contains(&link), "ada's link is still hers: {error}");
    log_in(&link, "ada", "ada.far").await;
    assert_eq!(who(&client).await.expect("in"), "ada.far");
}

#[tokio::test]
async fn an_answer_counts_from_its_own_page_in_its_own_browser() {
    let stage = Stage::new().await;
    let client = ada(&stage).await;
    let link = link(&stage, &client).await;
    let mut browser = Browser::of("ada");
    let page = browser.open(&link).await;
    let agree = page.button("agree");
    let mut elsewhere = Browser::of("ada");
    assert_eq!(elsewhere.get(&agree).await.status, 403, "another browser");
    for wrong in ["agree=", "agree=0000", "agree", "deny=0000", "x=y"] {
        let answer = browser.get(&format!("{link}?{wrong}")).await;
        assert!(answer.status == 403, "{wrong}: {answer:?}");
    }
    let doubled = format!("{agree}&agree=x");
    assert_eq!(browser.get(&doubled).await.status, 403);
    assert!(browser.visited.iter().all(|url| !url.starts_with(&stage.far_issuer)), "sent on");
    browser.name = "ada.far".to_owned();
    let done = browser.press(&page, "agree").await;
    assert!(done.page.contains("You are logged in"), "{done:?}");
}

#[tokio::test]
async fn a_page_belongs_to_one_browser_once_somebody_agreed() {
    let stage = Stage::new().await;
    let client = ada(&stage).await;
    let link = link(&stage, &client).await;
    let mut browser = Browser::of("ada");
    let page = browser.open(&link).await;
    let sent = browser.get(&page.button("agree")).await;
    assert_eq!(sent.status, 303, "{sent:?}");
    let mut other = Browser::of("ada");
    let refused = other.open(&link).await;
    assert!(refused.status == 403 && refused.page.contains("another browser"), "{refused:?}");
}

#[tokio::test]
async fn nobody_comes_back_for_somebody_else_or_twice() {
    let stage = Stage::new().await;
    let client = ada(&stage).await;
    let link = link(&stage, &client).await;
    let mut browser = Browser::of("ada");
    let page = browser.open(&link).await;
    browser.name = "ada.far".to_owned();
    let callback = stage.url.replace("/mcp", "/login/callback");
    let back = browser.walk(&page.button("agree"), |url| url.starts_with(&callback)).await.url;
    let mut thief = Browser::of("eve");
    assert_eq!(thief.get(&back).await.status, 403, "another browser");
    let state = between(&back, "state=", "&").map(str::to_owned);
    let state =
        state.or_else(|| back.split_once("state=").map(|(_, state)| state.to_owned())).expect("a state");
    for wrong in ["", "state=x&code=y", "code=y", "error=x", &format!("state={state}&state={state}&code=y")] {
        let answer = browser.get(&format!("{callback}?{wrong}")).await;
        assert!(answer.status == 400 || answer.status == 403, "{wrong}: {answer:?}");
    }
    let done = browser.get(&back).await;
    assert!(done.page.contains("You are logged in"), "{done:?}");
    assert_eq!(browser.get(&back).await.status, 403, "a second time");
    assert_eq!(browser.get(&link).await.status, 404, "the link is over");
}

#[tokio::test]
async fn links_that_were_never_made_are_none() {
    let stage = Stage::new().await;
    let mut browser = Browser::of("ada");
    let base = stage.url.replace("/mcp", "/login");
    for path in ["", "/", "/x", "/callback", "/../mcp", "/%00", &format!("/{}", "0".repeat(64))] {
        let answer = browser.get(&format!("{base}{path}")).await;
        assert!((400..=404).contains(&answer.status), "{path}: {answer:?}");
        assert!(answer.header("set-cookie").is_none(), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn pages_show_others_words_as_text_and_are_not_framed() {
    let stage = Stage::new().await;
    let mut wishes = Wishes::of("ada", Revision::V2025_11_25);
    wishes.says = "<script>alert(1)</script>\u{202e}evil";
    let client = stage.client(wishes).await;
    let link = link(&stage, &client).await;
    let mut browser = Browser::of("ada");
    let page = browser.open(&link).await;
    assert!(page.page.contains("&lt;script&gt;alert(1)&lt;/script&gt;evil"), "{page:?}");
    assert!(!page.page.contains("<script"), "{page:?}");
    for shown in ["ada", &stage.issuer, "app", "notes", &stage.server] {
        assert!(page.page.contains(shown), "{shown} is not shown: {page:?}");
    }
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "{policy}");
    for (name, value) in
        [("x-frame-options", "DENY"), ("cache-control", "no-store"), ("referrer-policy", "no-referrer")]
    {
        assert_eq!(page.header(name), Some(value), "{page:?}");
    }
    let first = Browser::of("ada").get(&link).await;
    let cookie = first.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/login"),
        "{cookie}"
    );
}

#[tokio::test]
async fn callers_whom_nobody_vouches_for_have_no_login() {
    let stage = Stage::new().await;
    for (login, words) in [
        (LoginFor::User(Login::default()), "does not know who you are"),
        (LoginFor::Shared(Login::default()), "contexture login"),
        (LoginFor::None, "configured without one"),
    ] {
        let mut entry = entry(&stage.server);
        entry.login = login;
        let gateway = Gateway { logins: Logins::on_this_machine(Arc::new(MemoryStore::new())), entry };
        let bound =
            gateway.server().into_http().expect("a server").bind("127.0.0.1:0").await.expect("a port");
        let url = bound.url();
        tokio::spawn(bound.serve_until(std::future::pending()));
        let client = Client::connect(&url).await.expect("connected");
        let error = answered(who(&client).await);
        assert!(error.message.contains(words), "{error}");
    }
}
