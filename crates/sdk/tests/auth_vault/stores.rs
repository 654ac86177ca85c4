//! What every store keeps, and how files keep it to themselves.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use contexture::Result;
use contexture::auth::{FileStore, MemoryStore, StoreKey, TokenStore};

use crate::{Folder, access, is_fault, key, stored};

/// Every store, with the folder that it may need.
fn each() -> [(Folder, Arc<dyn TokenStore>); 2] {
    let folder = Folder::new();
    let file = FileStore::at(folder.tokens());
    [(Folder::new(), Arc::new(MemoryStore::new())), (folder, Arc::new(file))]
}

#[tokio::test]
async fn what_is_saved_is_loaded_whole_until_it_is_removed() -> Result<()> {
    for (_folder, store) in each() {
        let key = key("https://mcp.example/mcp");
        assert!(store.load(&key).await?.is_none());
        store.save(&key, &stored("one")).await?;
        store.save(&key, &stored("two")).await?;
        let found = store.load(&key).await?.expect("it was saved");
        assert_eq!(found.registration, stored("two").registration, "the whole registration");
        let tokens = found.tokens.expect("tokens");
        assert_eq!((tokens.access.expose(), tokens.expires_at), ("two", Some(1_900_000_000)));
        assert_eq!(tokens.refresh.expect("a refresh token").expose(), "a-refresh-token");
        assert_eq!(tokens.scopes.to_string(), "files:read files:write");
        assert_eq!(tokens.requested.len(), 3);
        assert_eq!(tokens.dpop_key.expect("a key").expose(), "a-private-key");
        store.remove(&key).await?;
        store.remove(&key).await?;
        assert!(store.load(&key).await?.is_none() && store.list().await?.is_empty());
    }
    Ok(())
}

/// Row F20 of the threats, and F10: nothing of one issuer is found under another.
#[tokio::test]
async fn entries_belong_to_issuer_resource_and_account_together() -> Result<()> {
    let keys = [
        StoreKey::new("https://a.example", "https://mcp.example", ""),
        StoreKey::new("https://b.example", "https://mcp.example", ""),
        StoreKey::new("https://a.example", "https://other.example", ""),
        StoreKey::new("https://a.example", "https://mcp.example", "ada"),
        StoreKey::new("https://a.example/", "https://mcp.example", ""),
        StoreKey::new("https://a.examplehttps://mcp.example", "", ""),
    ];
    for (_folder, store) in each() {
        for (index, key) in keys.iter().enumerate() {
            store.save(key, &stored(&index.to_string())).await?;
        }
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(access(store.load(key).await?), Some(index.to_string()), "{key:?}");
        }
        assert_eq!(store.list().await?.len(), keys.len());
        store.remove(&keys[0]).await?;
        assert!(store.load(&keys[0]).await?.is_none());
        assert!(store.load(&keys[1]).await?.is_some() && store.load(&keys[3]).await?.is_some());
    }
    Ok(())
}

#[tokio::test]
async fn a_lock_is_held_by_one_at_a_time_and_by_key() -> Result<()> {
    for (_folder, store) in each() {
        let (one, other) = (key("https://one.example"), key("https://other.example"));
        let held = store.lock(&one).await?;
        let _elsewhere = store.lock(&other).await?;
        // Whoever holds it can work, and so can those who do not.
        store.save(&one, &stored("held")).await?;
        let mut waiting = Box::pin(store.lock(&one));
        let early = futures_util::FutureExt::now_or_never(&mut waiting);
        assert!(early.is_none(), "two hold the lock");
        drop(held);
        let _next = waiting.await?;
    }
    Ok(())
}

/// Row F20 of the threats.
// covers: AUTH-TOKEN-STORAGE
#[tokio::test]
async fn files_are_for_their_owner_alone_and_tell_nothing() -> Result<()> {
    let folder = Folder::new();
    let store = FileStore::at(folder.tokens());
    let key = StoreKey::new("https://issuer.example", "https://mcp.example/mcp", "ada");
    store.save(&key, &stored("an-access-token")).await?;
    let _lock = store.lock(&key).await?;
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder.tokens()), 0o700);
    let files = folder.files("");
    assert!(files.len() >= 3, "a key, an entry and locks: {files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{file:?}");
        let bytes = std::fs::read(&file).expect("it can be read");
        let text = format!("{} {}", file.display(), String::from_utf8_lossy(&bytes));
        for secret in [
            "an-access-token",
            "a-refresh-token",
            "a-client-secret",
            "a-private-key",
            "issuer.example",
            "mcp.example",
        ] {
            assert!(!text.contains(secret), "{file:?} tells {secret}");
        }
    }
    let shown = format!("{store:?} {key:?} {:?}", stored("an-access-token"));
    assert!(!shown.contains("an-access-token") && !shown.contains("a-refresh-token"), "{shown}");
    Ok(())
}

/// Row K13 of the threats: what others could read is not used as if they had not.
#[tokio::test]
async fn files_that_are_open_to_others_are_refused_with_what_to_do() -> Result<()> {
    let key = key("https://mcp.example");
    for ending in ["key", ".tokens"] {
        let folder = Folder::new();
        FileStore::at(folder.tokens()).save(&key, &stored("secret")).await?;
        let [file] = &folder.files(ending)[..] else { panic!("one file {ending}") };
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o644)).expect("it is ours");
        let refused = FileStore::at(folder.tokens()).load(&key).await.expect_err("it is open to others");
        let words = refused.to_string();
        assert!(is_fault(&refused), "{words}");
        assert!(words.contains("644") && words.contains("600") && words.contains("log in again"), "{words}");
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).expect("it is ours");
        assert_eq!(access(FileStore::at(folder.tokens()).load(&key).await?).as_deref(), Some("secret"));
    }
    Ok(())
}

/// Servers that want to know nothing leave no trace.
#[tokio::test]
async fn nothing_is_made_before_there_is_something_to_keep() -> Result<()> {
    let folder = Folder::new();
    let store = FileStore::at(folder.path().join("new/tokens"));
    let key = key("https://mcp.example");
    assert!(store.load(&key).await?.is_none() && store.list().await?.is_empty());
    store.remove(&key).await?;
    assert!(!folder.path().join("new").exists());
    store.save(&key, &stored("kept")).await?;
    assert_eq!(access(store.load(&key).await?).as_deref(), Some("kept"));
    Ok(())
}

#[tokio::test]
async fn a_folder_that_others_can_list_is_closed() -> Result<()> {
    let folder = Folder::new();
    std::fs::create_dir(folder.tokens()).expect("a folder");
    std::fs::set_permissions(folder.tokens(), PermissionsExt::from_mode(0o755)).expect("it is ours");
    assert!(FileStore::at(folder.tokens()).list().await?.is_empty());
    let mode = std::fs::metadata(folder.tokens()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    Ok(())
}
