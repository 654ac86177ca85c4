//! A tool that needs more than was asked for at the login.

use std::time::Duration;

use contexture::revision::Revision;

use crate::stage::{Desk, READ, WRITE, issuer, protected};

/// The person is asked once more, and only for the tool that needs it; what was granted before stays.
// covers: AUTH-STATUS-403
#[tokio::test]
async fn a_scope_is_stepped_up() {
    let issuer = issuer(Duration::from_secs(300)).await;
    for revision in Revision::ALL {
        let (url, pair) = protected(&issuer).await;
        let addresses = [Some(url), revision.is_legacy().then_some(pair)];
        for address in addresses.into_iter().flatten() {
            let desk = Desk::default();
            let client = desk.client(revision).connect(&address).await.expect("logged in");
            assert_eq!(client.call("who", ()).await.expect("an answer").text(), "ada");
            assert!(!granted(&desk).await.contains(WRITE), "{revision}: not asked for before it is needed");
            for _ in 0..2 {
                assert_eq!(
                    client.call("write", ()).await.expect("an answer").text(),
                    "written",
                    "{revision}"
                );
                assert_eq!(desk.person.visits(), 2, "{revision}: asked once more, and not again");
            }
            let scopes = granted(&desk).await;
            assert!(scopes.contains(READ) && scopes.contains(WRITE), "{revision}: {scopes}");
            client.close().await;
        }
    }
}

async fn granted(desk: &Desk) -> contexture::auth::Scopes {
    desk.kept().await.1.tokens.expect("tokens").scopes
}
