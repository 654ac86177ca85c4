//! Tokens that expire, and tokens of another server.

use std::time::Duration;

use contexture::revision::Revision;
use contexture::{Client, Error};

use crate::stage::{Desk, access, issuer, protected, refresh};

/// How long an access token lives: by whole seconds, so that one may be gone a second earlier.
const LIFE: Duration = Duration::from_secs(3);

/// In every revision and over both transports at once: they all wait for the same.
// covers: AUTH-TOKEN-INVALID-401, AUTH-AS-REFRESH-ROTATE, AUTH-RESOURCE-TOKEN-REQ
#[tokio::test]
async fn an_expired_token_is_refreshed() {
    let issuer = issuer(LIFE).await;
    let mut told = Vec::new();
    for revision in Revision::ALL {
        let (url, pair) = protected(&issuer).await;
        told.push(outlive(revision, url));
        if revision.is_legacy() {
            told.push(outlive(revision, pair));
        }
    }
    futures_util::future::join_all(told).await;
}

async fn outlive(revision: Revision, address: String) {
    let desk = Desk::default();
    let client = desk.client(revision).connect(&address).await.expect("logged in");
    let (_, before) = desk.kept().await;
    tokio::time::sleep(LIFE + Duration::from_secs(1)).await;
    assert_eq!(client.call("who", ()).await.expect("an answer").text(), "ada", "{revision}");
    let (_, after) = desk.kept().await;
    assert_ne!(access(&before), access(&after), "{revision}");
    assert_ne!(refresh(&before), refresh(&after), "{revision}: it rotates");
    assert_eq!(desk.person.visits(), 1, "{revision}");
    client.close().await;
}

/// The same issuer protects both, and signs both tokens with the same key.
// covers: AUTH-TOKEN-AUDIENCE, AUTH-SERVER-NO-OTHER-TOKENS, AUTH-TOKEN-ERROR-RESPONSE
#[tokio::test]
async fn a_token_of_another_server_is_refused() {
    let issuer = issuer(Duration::from_secs(300)).await;
    let ((url, _), (other, other_pair)) = (protected(&issuer).await, protected(&issuer).await);
    let desk = Desk::default();
    desk.client(Revision::V2025_06_18).connect(&url).await.expect("logged in").close().await;
    let (_, stored) = desk.kept().await;
    let shown = format!("Bearer {}", access(&stored));
    for revision in Revision::ALL {
        let client = || Client::builder().revisions(&[revision]).header("Authorization", &shown);
        client().connect(&url).await.expect("its own server takes it").close().await;
        let addresses = [Some(&other), revision.is_legacy().then_some(&other_pair)];
        for address in addresses.into_iter().flatten() {
            let refused = client().connect(address).await.expect_err("refused");
            let Error::Http(refusal) = refused else { panic!("{revision}: {refused:?}") };
            assert_eq!(refusal.status, 401, "{revision}");
            assert!(refusal.challenges.iter().any(|it| it.contains("invalid_token")), "{refusal:?}");
        }
    }
    // The client itself never shows it there: it logs in anew.
    desk.client(Revision::V2026_07_28).connect(&other).await.expect("logged in").close().await;
    assert_eq!(desk.person.visits(), 2);
}
