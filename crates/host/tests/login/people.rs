//! People who log in as they should, and what they get.

use contexture::client::{ElicitAnswer, Event};
use contexture::revision::Revision;

use crate::browser::Browser;
use crate::stage::{Stage, Wishes, all, answered, log_in, logging_in, visiting, who, yes};

const BOTH: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

#[tokio::test]
async fn a_person_is_asked_once_and_is_themself_from_then_on() {
    for revision in BOTH {
        let stage = Stage::new().await;
        let (elicitation, mut links) = logging_in("ada", "ada.far");
        let client = stage.client(Wishes::of("ada", revision).asked(elicitation)).await;
        assert_eq!(who(&client).await.expect("logged in"), "ada.far", "{revision}");
        let link = links.recv().await.expect("a link");
        assert!(link.starts_with(&stage.url.replace("/mcp", "/login/")), "{link}");
        assert_eq!(who(&client).await.expect("still in"), "ada.far");
        assert!(links.try_recv().is_err(), "asked twice ({revision})");
    }
}

// covers: AUTH-NO-PASSTHROUGH
#[tokio::test]
async fn no_token_of_a_client_is_ever_forwarded() {
    let stage = Stage::new().await;
    let (elicitation, _links) = logging_in("ada", "ada.far");
    let client = stage.client(Wishes::of("ada", Revision::V2025_11_25).asked(elicitation)).await;
    who(&client).await.expect("logged in");
    let (near, far) = (all(&stage.shown), all(&stage.seen));
    assert!(!near.is_empty() && !far.is_empty());
    assert!(far.iter().all(|token| !near.contains(token)), "a token of the gateway was shown to the server");
}

#[tokio::test]
async fn two_people_at_once_are_two_people() {
    let stage = Stage::new().await;
    let mut clients = Vec::new();
    for (near, far) in [("ada", "ada.far"), ("ben", "ben.far")] {
        let (elicitation, links) = logging_in(near, far);
        let client = stage.client(Wishes::of(near, Revision::V2026_07_28).asked(elicitation)).await;
        clients.push((client, links, far));
    }
    let (first, second) = tokio::join!(who(&clients[0].0), who(&clients[1].0));
    assert_eq!((first.expect("in"), second.expect("in")), ("ada.far".to_owned(), "ben.far".to_owned()));
    for _ in 0..5 {
        for (client, _, far) in &clients {
            assert_eq!(who(client).await.expect("in"), *far);
        }
    }
}

#[tokio::test]
async fn the_client_hears_that_the_person_is_done() {
    let stage = Stage::new().await;
    let (elicitation, _links) = logging_in("ada", "ada.far");
    let client = stage.client(Wishes::of("ada", Revision::V2025_11_25).asked(elicitation)).await;
    let mut events = client.events();
    who(&client).await.expect("logged in");
    while let Some(event) = events.next().await {
        if matches!(event, Event::ElicitationComplete(_)) {
            return;
        }
    }
    panic!("nobody said that the person is done");
}

#[tokio::test]
async fn whoever_does_not_want_to_is_not_logged_in() {
    for revision in BOTH {
        let stage = Stage::new().await;
        let (elicitation, _links) = visiting(|_| async { ElicitAnswer::Decline });
        let client = stage.client(Wishes::of("ada", revision).asked(elicitation)).await;
        let error = answered(who(&client).await);
        assert!(error.message.contains("did not want to log in"), "{error}");
        assert_eq!(all(&stage.seen), Vec::<String>::new());
    }
}

#[tokio::test]
async fn who_says_no_on_the_page_is_not_logged_in() {
    let stage = Stage::new().await;
    let (elicitation, _links) = visiting(|link| async move {
        let mut browser = Browser::of("ada");
        let page = browser.open(&link).await;
        let said = browser.press(&page, "deny").await;
        assert!(said.page.contains("Nothing was done"), "{said:?}");
        assert_eq!(browser.get(&link).await.status, 404, "the link is over");
        yes()
    });
    let client = stage.client(Wishes::of("ada", Revision::V2025_11_25).asked(elicitation)).await;
    let error = answered(who(&client).await);
    assert!(error.message.contains("said no"), "{error}");
}

#[tokio::test]
async fn what_the_authorization_server_refuses_is_said_and_can_be_tried_again() {
    let stage = Stage::new().await;
    let (elicitation, mut links) = visiting(|link| async move {
        let mut browser = Browser::of("ada");
        let page = browser.open(&link).await;
        browser.denies = true;
        let said = browser.press(&page, "agree").await;
        assert!(said.status == 502 && said.page.contains("said no"), "{said:?}");
        yes()
    });
    let client = stage.client(Wishes::of("ada", Revision::V2025_11_25).asked(elicitation)).await;
    let error = answered(who(&client).await);
    assert!(error.message.contains("the login did not work"), "{error}");
    let link = links.recv().await.expect("a link");
    assert!(error.message.contains(&link), "{error}");
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_the_address() {
    for (revision, code) in [(Revision::V2025_11_25, -32042), (Revision::V2025_06_18, -32603)] {
        let stage = Stage::new().await;
        let client = stage.client(Wishes::of("ada", revision)).await;
        let error = answered(who(&client).await);
        assert_eq!(error.code, code, "{error}");
        let data = error.data.as_ref().expect("data");
        let link = data["elicitations"][0]["url"].as_str().expect("a link").to_owned();
        assert!(error.message.contains(&link), "{error}");
        log_in(&link, "ada", "ada.far").await;
        assert_eq!(who(&client).await.expect("logged in"), "ada.far");
    }
}
