//! Several clients of one person: the gateway is one client to the server behind it, so it asks about each of them itself.

use contexture::revision::Revision;

use crate::browser::{Browser, between};
use crate::stage::{Stage, Wishes, all, answered, logging_in, visiting, who, yes};

fn app(person: &str, revision: Revision) -> Wishes<'_> {
    Wishes::of(person, revision)
}

fn other(person: &str, revision: Revision) -> Wishes<'_> {
    Wishes { client: "other", says: "the other", ..Wishes::of(person, revision) }
}

// covers: SEC-PROXY-CONSENT
#[tokio::test]
async fn a_second_client_is_stopped_until_the_person_agrees() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let stage = Stage::new().await;
        let (elicitation, _links) = logging_in("ada", "ada.far");
        let first = stage.client(app("ada", revision).asked(elicitation)).await;
        assert_eq!(who(&first).await.expect("in"), "ada.far");
        let before = all(&stage.seen).len();

        let (elicitation, _links) = visiting(|link| async move {
            let mut browser = Browser::of("ada");
            let page = browser.open(&link).await;
            assert!(page.page.contains("the other") && page.page.contains("<dd>other</dd>"), "{page:?}");
            browser.press(&page, "deny").await;
            yes()
        });
        let second = stage.client(other("ada", revision).asked(elicitation)).await;
        let error = answered(who(&second).await);
        assert!(error.message.contains("the person said no"), "{error}");
        assert_eq!(all(&stage.seen).len(), before, "the login was used for a client that nobody agreed to");
        assert_eq!(who(&first).await.expect("the first is not concerned"), "ada.far");
    }
}

#[tokio::test]
async fn agreeing_to_a_second_client_needs_no_second_login() {
    let mut stage = Stage::new().await;
    let (elicitation, _links) = logging_in("ada", "ada.far");
    let first = stage.client(app("ada", Revision::V2026_07_28).asked(elicitation)).await;
    who(&first).await.expect("in");

    let far = stage.far_issuer.clone();
    let agreeing = move |link: String| {
        let far = far.clone();
        async move {
            let mut browser = Browser::of("ada");
            let page = browser.open(&link).await;
            let done = browser.press(&page, "agree").await;
            assert!(done.page.contains("You are logged in"), "{done:?}");
            assert!(browser.visited.iter().all(|url| !url.starts_with(&far)), "a second login");
            yes()
        }
    };
    let (elicitation, mut links) = visiting(agreeing);
    let second = stage.client(other("ada", Revision::V2026_07_28).asked(elicitation)).await;
    assert_eq!(who(&second).await.expect("in"), "ada.far");
    assert!(links.recv().await.is_some() && links.try_recv().is_err(), "asked once");

    // What was agreed to is remembered, and so are the tokens.
    stage.restart().await;
    for wishes in [app("ada", Revision::V2025_11_25), other("ada", Revision::V2025_11_25)] {
        let client = stage.client(wishes).await;
        assert_eq!(who(&client).await.expect("still in"), "ada.far");
    }
    let (elicitation, mut links) = logging_in("ben", "ben.far");
    let ben = stage.client(app("ben", Revision::V2025_11_25).asked(elicitation)).await;
    assert_eq!(who(&ben).await.expect("in"), "ben.far");
    assert!(links.recv().await.is_some(), "what ada agreed to is hers");
}

#[tokio::test]
async fn the_gateway_registers_once_for_everybody() {
    let stage = Stage::new().await;
    let (ids, mut given) = tokio::sync::mpsc::unbounded_channel();
    for (near, far) in [("ada", "ada.far"), ("ben", "ben.far")] {
        let (ids, issuer) = (ids.clone(), stage.far_issuer.clone());
        let (elicitation, _links) = visiting(move |link| {
            let (ids, issuer) = (ids.clone(), issuer.clone());
            async move {
                let browser = crate::stage::log_in(&link, near, far).await;
                let sent = browser.visited.iter().find(|url| url.starts_with(&issuer)).expect("sent there");
                ids.send(between(sent, "client_id=", "&").expect("a client").to_owned()).expect("sent");
                yes()
            }
        });
        let client = stage.client(app(near, Revision::V2025_11_25).asked(elicitation)).await;
        assert_eq!(who(&client).await.expect("in"), far);
    }
    let (first, second) = (given.recv().await, given.recv().await);
    assert!(first.is_some() && first == second, "{first:?} {second:?}");
}
