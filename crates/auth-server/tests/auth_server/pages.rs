//! Pages: whatever clients say is text on them, and nobody can frame them or add to them.

use serde_json::json;

use crate::support::{Asking, Browser, Reply, Stage, server};

/// Ways to be more than text.
const SCRIPTS: [&str; 12] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'><svg/onload=alert(1)>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "\" autofocus onfocus=alert(1) x=\"",
    "javascript:alert(1)",
    "<a href='javascript:alert(1)'>x</a>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "\u{202e}<b>\u{2028}\u{0}\r\n<!--",
];

/// What our own pages are made of.
const TAGS: [&str; 22] = [
    "!doctype", "html", "meta", "title", "style", "header", "main", "h1", "p", "b", "a", "code", "dl", "dt",
    "dd", "form", "input", "label", "button", "em", "br", "hr",
];

/// Only elements that the pages are made of, none of them twice that must be there once, nothing that runs, and
/// nothing that turns text around.
fn is_harmless(page: &Reply) -> bool {
    let text = page.body.to_lowercase();
    let tags = text.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default());
    let known = tags.clone().all(|tag| {
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
        // Values in quotes are text; every second piece is one.
        let bare = tag.split('"').step_by(2).collect::<String>();
        TAGS.contains(&name) && !bare.contains(" on") && !tag.contains("\"javascript:")
    });
    let once = |tag: &str| tags.clone().filter(|known| *known == tag).count() == 1;
    known && once("title") && once("style") && !text.contains(['\u{202e}', '\u{2028}', '\0'])
}

fn is_closed(page: &Reply) -> bool {
    let policy = page.header("content-security-policy").unwrap_or_default();
    policy.contains("default-src 'none'")
        && policy.contains("frame-ancestors 'none'")
        && policy.contains("base-uri 'none'")
        && !policy.contains("unsafe")
        && page.header("x-frame-options") == Some("DENY")
        && page.header("x-content-type-options") == Some("nosniff")
        && page.header("cache-control") == Some("no-store")
        && page.header("referrer-policy") == Some("same-origin")
        && page.body.contains("Contexture authorization server for development")
}

#[tokio::test]
async fn what_clients_say_is_text() {
    let stage = Stage::new(server()).await;
    for script in SCRIPTS {
        let registration = json!({
            "client_name": script, "redirect_uris": ["https://app.example/cb"], "token_endpoint_auth_method": "none",
        });
        let id = stage.register(&registration).await.text("client_id");
        let asking = Asking::new()
            .with("client_id", &id)
            .with("redirect_uri", "https://app.example/cb")
            .with("state", script);
        let mut browser = Browser::new(&stage);
        let login = browser.open(&asking).await;
        let consent = browser.sign_in(&login, "a<b>&\"'").await;
        let wrong = browser.open(&asking.clone().with("scope", script).with("response_type", script)).await;
        let unknown = browser.open(&asking.clone().with("client_id", script)).await;
        let strange = browser.open(&asking.clone().with("redirect_uri", script)).await;
        let target =
            browser.open(&asking.clone().with("resource", &format!("https://app.example/{script}"))).await;
        let target_of = |page: &Reply| page.body.contains("tokens are issued for one known resource");
        assert!(target_of(&target) || !script.contains(['<', '"', ' ']), "{script}: {target:?}");
        for page in [&target, &login, &consent, &wrong, &unknown, &strange] {
            assert!(page.is_page(), "{script}: {page:?}");
            assert!(is_harmless(page), "{script}: {}", page.body);
            assert!(is_closed(page), "{script}: {page:?}");
        }
        let consent = browser.open(&asking).await;
        let back = browser.decide(&consent, "allow").await;
        assert_eq!(back.parameter("state").as_deref(), Some(script), "given back as it came");
    }
}

#[tokio::test]
async fn scopes_are_text() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.asked(&Asking::new().with("scope", "<script>alert(1)</script> a'b ><")).await;
    assert!(is_harmless(&page) && page.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page:?}");
}

#[tokio::test]
async fn a_form_leads_to_us_and_to_where_the_client_is_and_nowhere_else() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.asked(&Asking::new()).await;
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("form-action 'self' http://127.0.0.1:5000;"), "{policy}");
    let home = stage.get("/").await;
    assert!(
        is_closed(&home)
            && home.header("content-security-policy").is_some_and(|it| it.contains("form-action 'self';"))
    );
}

#[tokio::test]
async fn a_program_on_this_machine_could_be_anyone() {
    let stage = Stage::new(server()).await;
    let registration =
        json!({ "redirect_uris": ["http://localhost/cb"], "token_endpoint_auth_method": "none" });
    let id = stage.register(&registration).await.text("client_id");
    let asking = Asking::new().with("client_id", &id).with("redirect_uri", "http://localhost:7777/cb");
    let page = Browser::new(&stage).asked(&asking).await;
    assert!(
        page.body.contains("localhost:7777") && page.body.contains("a program on this machine"),
        "{page:?}"
    );
}
