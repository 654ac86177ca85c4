//! A client that knows a URL and nothing else, from its first request to its last.

use std::time::Duration;

use contexture::revision::Revision;
use contexture::{Client, Error};
use serde_json::json;

use crate::stage::{Desk, READ, issuer, protected};

const LONG: Duration = Duration::from_secs(300);

async fn tell(client: &Client) {
    assert_eq!(client.tools().await.expect("a list").len(), 3);
    let echo = client.call("echo", json!({ "message": "hello" })).await.expect("an answer");
    assert_eq!(echo.text(), "hello");
    assert_eq!(client.call("who", ()).await.expect("an answer").text(), "ada");
}

// covers: AUTH-HTTP-CONFORM, AUTH-CLIENT-PRM, AUTH-CLIENT-AS-METADATA, AUTH-CLIENT-DCR, AUTH-SERVER-PRM, AUTH-PRM-AS-LIST
// covers: AUTH-CLIENT-401-HANDLE, AUTH-EVERY-REQUEST, AUTH-TOKEN-VALIDATE
#[tokio::test]
async fn a_login_in_every_revision() {
    let issuer = issuer(LONG).await;
    for revision in Revision::ALL {
        let (url, _) = protected(&issuer).await;
        let desk = Desk::default();
        let client = desk.client(revision).connect(&url).await.expect("logged in");
        assert_eq!(client.revision(), revision);
        tell(&client).await;
        client.close().await;
        assert_eq!(desk.person.visits(), 1, "{revision}");
        let (key, stored) = desk.kept().await;
        assert_eq!((key.issuer, key.resource), (issuer.clone(), url));
        assert!(stored.tokens.expect("tokens").scopes.contains(READ));
    }
}

// covers: AUTH-CLIENT-401-HANDLE, AUTH-EVERY-REQUEST
#[tokio::test]
async fn a_login_over_http_and_sse() {
    let issuer = issuer(LONG).await;
    for revision in Revision::LEGACY {
        let (_, pair) = protected(&issuer).await;
        let desk = Desk::default();
        let client = desk.client(revision).connect(&pair).await.expect("logged in");
        assert_eq!(client.revision(), revision);
        tell(&client).await;
        client.close().await;
        assert_eq!(desk.person.visits(), 1, "{revision}");
    }
}

/// What was kept is enough for the next client, and for the other transport of the same server.
#[tokio::test]
async fn one_login_is_enough() {
    let issuer = issuer(LONG).await;
    let (url, _) = protected(&issuer).await;
    let desk = Desk::default();
    for revision in Revision::ALL {
        let client = desk.client(revision).connect(&url).await.expect("connected");
        tell(&client).await;
        client.close().await;
    }
    assert_eq!(desk.person.visits(), 1);
}

/// Nobody who has not logged in gets anything, in any revision.
// covers: AUTH-STATUS-401, AUTH-401-WWW-AUTHENTICATE, AUTH-NO-DATA-LEAK
#[tokio::test]
async fn without_a_login_there_is_nothing() {
    let issuer = issuer(LONG).await;
    let (url, pair) = protected(&issuer).await;
    for revision in Revision::ALL {
        let addresses = [Some(&url), revision.is_legacy().then_some(&pair)];
        for address in addresses.into_iter().flatten() {
            let refused =
                Client::builder().revisions(&[revision]).connect(address).await.expect_err("refused");
            let Error::Http(refusal) = refused else { panic!("{revision}: {refused:?}") };
            assert_eq!(refusal.status, 401, "{revision}");
            assert!(refusal.challenges.iter().any(|it| it.contains("resource_metadata=")), "{refusal:?}");
        }
    }
}
