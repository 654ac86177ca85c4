//! One expired token and several who need it: one refresh on the wire.
//!
//! The other processes are this test binary once more: told to, it plays a part instead of testing.

use std::process::{Command, Stdio};

use contexture::auth::metadata::Registration;
use contexture::auth::{
    Authorization, FileStore, MemoryStore, Scopes, Secret, StoreKey, Stored, TokenStore, Tokens,
};
use contexture::client::Client;
use futures_util::future::join_all;
use serde_json::json;

use super::world::World;

/// What tells the other process where the server and the store are.
const SERVER: &str = "CONTEXTURE_TEST_SERVER";
const STORE: &str = "CONTEXTURE_TEST_STORE";

async fn store_expired(world: &World, store: &impl TokenStore) {
    let tokens = Tokens {
        access: Secret::new("expired"),
        refresh: Some(Secret::new("the-refresh-token")),
        expires_at: Some(1),
        scopes: Scopes::default(),
        requested: Scopes::default(),
        dpop_key: None,
    };
    let stored = Stored { server: world.url(), registration: Registration::known("c"), tokens: Some(tokens) };
    store.save(&StoreKey::new(&world.issuer, world.url(), ""), &stored).await.expect("saved");
    world.accept_refresh("the-refresh-token");
}

async fn use_stored(url: &str, store: impl TokenStore) -> contexture::Result<()> {
    let policy = Authorization::stored().store(store);
    let client = Client::builder().authorization(policy).connect(url).await?;
    client.call("add", json!({ "a": 1, "b": 2 })).await?.ok().map(drop)
}

#[tokio::test]
async fn two_clients_with_one_expired_token_refresh_once() {
    let world = World::start().await;
    let store = MemoryStore::new();
    store_expired(&world, &store).await;
    let url = world.url();
    for outcome in join_all((0..4).map(|_| use_stored(&url, store.clone()))).await {
        outcome.expect("each has a token");
    }
    assert_eq!(world.grants("refresh_token").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_one_expired_token_refresh_once() {
    let world = World::start().await;
    let folder = std::env::temp_dir().join(format!("contexture-refresh-{}", std::process::id()));
    store_expired(&world, &FileStore::at(&folder)).await;
    let program = std::env::current_exe().expect("this program");
    let part = ["--exact", "processes::the_other_process", "--nocapture"];
    let players = [(); 2].map(|()| {
        let mut player = Command::new(&program);
        player.args(part).env(SERVER, world.url()).env(STORE, &folder);
        player.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    });
    for player in players {
        let ended =
            tokio::task::spawn_blocking(|| player.wait_with_output()).await.expect("waited").expect("ended");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let users: std::collections::HashSet<_> =
        world.at_server().into_iter().filter_map(|seen| seen.headers.get("authorization").cloned()).collect();
    assert_eq!(users.len(), 1, "one token for both: {users:?}");
    assert_eq!(world.grants("refresh_token").len(), 1, "one refresh on the wire");
    let _ = std::fs::remove_dir_all(&folder);
}

/// A part, not a test, unless it is told where to play.
#[tokio::test]
async fn the_other_process() {
    let (Ok(url), Some(folder)) = (std::env::var(SERVER), std::env::var_os(STORE)) else { return };
    use_stored(&url, FileStore::at(folder)).await.expect("a token");
}
