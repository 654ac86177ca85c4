//! The person who started the gateway, on this machine: no page of ours, the way back leads to a listener.

use std::sync::Arc;

use contexture::Client;
use contexture::auth::{MemoryStore, TokenStore as _};
use contexture::client::ElicitAnswer;
use contexture::revision::Revision;
use contexture::transport::memory;
use contexture_auth_server::AuthServer;
use contexture_host::config::{Login, LoginFor};
use contexture_host::login::Logins;

use crate::browser::Browser;
use crate::stage::{Gateway, all, answered, entry, issuer, protected, visiting, who, yes};

async fn gateway(login: LoginFor) -> (Gateway, Arc<MemoryStore>, String, crate::stage::Seen) {
    let issuer = issuer(AuthServer::new()).await;
    let (server, seen) = protected(&issuer).await;
    let mut entry = entry(&server);
    entry.login = login;
    let store = Arc::new(MemoryStore::new());
    (Gateway { logins: Logins::on_this_machine(store.clone()), entry }, store, issuer, seen)
}

async fn client(
    gateway: &Gateway,
    revision: Revision,
    elicitation: contexture::client::Elicitation,
) -> Client {
    let (own, other) = memory(1024 * 1024);
    tokio::spawn(gateway.server().serve(other));
    Client::builder().revisions(&[revision]).elicitation(elicitation).connect(own).await.expect("connected")
}

#[tokio::test]
async fn the_person_is_sent_to_the_authorization_server_and_back_to_this_machine() {
    for login in [LoginFor::User(Login::default()), LoginFor::Shared(Login::default())] {
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let (gateway, store, issuer, _seen) = gateway(login.clone()).await;
            let (elicitation, mut links) = visiting(|link| async move {
                let back = Browser::of("ada").open(&link).await;
                assert!(back.url.contains("/callback?") && back.status == 200, "{back:?}");
                yes()
            });
            let client = client(&gateway, revision, elicitation).await;
            assert_eq!(who(&client).await.expect("logged in"), "ada");
            assert!(links.recv().await.expect("a link").starts_with(&issuer));
            assert_eq!(who(&client).await.expect("still in"), "ada");
            assert!(links.try_recv().is_err(), "asked twice");
            let keys = store.list().await.expect("keys");
            assert!(keys.len() == 1 && keys[0].account.is_empty(), "as `contexture login` has it: {keys:?}");
        }
    }
}

#[tokio::test]
async fn a_login_that_failed_is_begun_anew() {
    let (gateway, _store, _issuer, seen) = gateway(LoginFor::User(Login::default())).await;
    let (elicitation, mut links) = visiting(|link| async move {
        let mut browser = Browser::of("ada");
        browser.denies = true;
        browser.open(&link).await;
        yes()
    });
    let client = client(&gateway, Revision::V2025_11_25, elicitation).await;
    for _ in 0..2 {
        let error = answered(who(&client).await);
        assert!(error.message.contains("the login did not work"), "{error}");
    }
    let (first, second) = (links.recv().await, links.recv().await);
    assert!(first.is_some() && second.is_some() && first != second, "the same link twice: {first:?}");
    assert_eq!(all(&seen), Vec::<String>::new());
}

#[tokio::test]
async fn whoever_declines_keeps_their_peace() {
    let (gateway, store, ..) = gateway(LoginFor::User(Login::default())).await;
    let (elicitation, _links) = visiting(|_| async { ElicitAnswer::Cancel });
    let client = client(&gateway, Revision::V2026_07_28, elicitation).await;
    let error = answered(who(&client).await);
    assert!(error.message.contains("did not want to log in"), "{error}");
    let kept = store.list().await.expect("keys");
    for key in kept {
        let stored = store.load(&key).await.expect("readable").expect("kept");
        assert!(stored.tokens.is_none(), "a token of nobody");
    }
}
