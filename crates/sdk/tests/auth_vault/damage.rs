//! Files that somebody changed, that were written half, or that cannot be written.

use std::os::unix::fs::PermissionsExt;

use contexture::auth::{FileStore, TokenStore};
use contexture::{Error, Result};

use crate::{Folder, access, is_fault, key, stored};

/// A store with one entry, and the file that holds it.
async fn one_entry(folder: &Folder) -> Result<std::path::PathBuf> {
    FileStore::at(folder.tokens()).save(&key("https://mcp.example"), &stored("precious")).await?;
    Ok(folder.files(".tokens").pop().expect("one entry"))
}

/// Nothing of the entry is found by a process that looks now.
async fn is_lost(folder: &Folder) -> Result<bool> {
    let store = FileStore::at(folder.tokens());
    let listed = store.list().await?.contains(&key("https://mcp.example"));
    Ok(store.load(&key("https://mcp.example")).await?.is_none() && !listed)
}

/// A new login puts a whole entry in the place of what is damaged.
async fn is_mended_by_a_login(folder: &Folder) -> Result<bool> {
    let store = FileStore::at(folder.tokens());
    store.save(&key("https://mcp.example"), &stored("anew")).await?;
    Ok(access(store.load(&key("https://mcp.example")).await?).as_deref() == Some("anew"))
}

#[tokio::test]
async fn a_file_that_was_changed_anywhere_does_not_open() -> Result<()> {
    let folder = Folder::new();
    let file = one_entry(&folder).await?;
    let whole = std::fs::read(&file).expect("an entry");
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&file, &changed).expect("it is ours");
        assert!(is_lost(&folder).await?, "byte {at}");
    }
    for length in [0, 1, 20, 31, 32, 48, whole.len() - 1] {
        std::fs::write(&file, &whole[..length]).expect("it is ours");
        assert!(is_lost(&folder).await?, "{length} bytes");
    }
    for longer in [[&whole[..], b"x"].concat(), vec![b'x'; 2_000_000]] {
        std::fs::write(&file, longer).expect("it is ours");
        assert!(is_lost(&folder).await?);
    }
    assert!(is_mended_by_a_login(&folder).await?);
    Ok(())
}

/// Whoever can move files cannot make one server's token another's.
#[tokio::test]
async fn an_entry_does_not_open_under_another_name() -> Result<()> {
    let folder = Folder::new();
    let file = one_entry(&folder).await?;
    let store = FileStore::at(folder.tokens());
    store.save(&key("https://evil.example"), &stored("other")).await?;
    let other = folder.files(".tokens").into_iter().find(|path| *path != file).expect("two entries");
    std::fs::copy(&other, &file).expect("both are ours");
    assert!(is_lost(&folder).await?);
    assert_eq!(store.list().await?, [key("https://evil.example")], "one that is damaged hides no other");
    Ok(())
}

#[tokio::test]
async fn another_key_opens_nothing() -> Result<()> {
    let folder = Folder::new();
    one_entry(&folder).await?;
    let key_file = folder.tokens().join("key");
    std::fs::write(&key_file, [7; 32]).expect("it is ours");
    assert!(is_lost(&folder).await?);
    // A key that is gone is made anew; what it opened is lost.
    std::fs::remove_file(&key_file).expect("it is ours");
    assert!(is_lost(&folder).await?);
    assert_eq!(std::fs::read(&key_file).expect("a new key").len(), 32);
    assert!(is_mended_by_a_login(&folder).await?);
    // What is no key is nobody's to replace: there may be a reason for it.
    for wrong in [31, 33, 0] {
        std::fs::write(&key_file, vec![7; wrong]).expect("it is ours");
        let store = FileStore::at(folder.tokens());
        let error = store.load(&key("https://mcp.example")).await.expect_err("there is no key");
        assert!(is_fault(&error) && error.to_string().contains("log in again"), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_draft_that_a_crash_left_does_no_harm() -> Result<()> {
    let folder = Folder::new();
    let file = one_entry(&folder).await?;
    let draft = file.with_extension("tokens.draft");
    std::fs::write(&draft, b"half an ent").expect("it is ours");
    let store = FileStore::at(folder.tokens());
    assert_eq!(access(store.load(&key("https://mcp.example")).await?).as_deref(), Some("precious"));
    assert_eq!(store.list().await?.len(), 1);
    store.save(&key("https://mcp.example"), &stored("after")).await?;
    assert_eq!(access(store.load(&key("https://mcp.example")).await?).as_deref(), Some("after"));
    assert!(!draft.exists());
    Ok(())
}

#[tokio::test]
async fn what_is_in_the_way_is_named() {
    let folder = Folder::new();
    std::fs::write(folder.tokens(), b"a file").expect("it is ours");
    for path in [folder.tokens(), folder.tokens().join("below")] {
        let saved = FileStore::at(&path).save(&key("https://mcp.example"), &stored("new")).await;
        let error = saved.expect_err("there is a file");
        let words = error.to_string();
        assert!(is_fault(&error), "{words}");
        assert!(words.contains(&*folder.tokens().to_string_lossy()) && words.contains("move"), "{words}");
    }
}

/// For root there is no such folder.
#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() -> Result<()> {
    let folder = Folder::new();
    one_entry(&folder).await?;
    std::fs::set_permissions(folder.tokens(), PermissionsExt::from_mode(0o500)).expect("it is ours");
    let store = FileStore::at(folder.tokens());
    match store.save(&key("https://mcp.example"), &stored("new")).await {
        Ok(()) => assert!(std::fs::write(folder.tokens().join("probe"), b"").is_ok(), "nothing was written"),
        Err(error) => {
            let words = error.to_string();
            assert!(words.contains("XDG_DATA_HOME") && words.contains("writable"), "{words}");
            assert_eq!(access(store.load(&key("https://mcp.example")).await?).as_deref(), Some("precious"));
        }
    }
    std::fs::set_permissions(folder.tokens(), PermissionsExt::from_mode(0o700)).expect("it is ours");
    Ok(())
}

#[tokio::test]
async fn an_entry_has_a_bound() -> Result<()> {
    let folder = Folder::new();
    one_entry(&folder).await?;
    let store = FileStore::at(folder.tokens());
    let mut large = stored("large");
    large.registration.rest.insert("padding".into(), "x".repeat(600_000).into());
    let error = store.save(&key("https://mcp.example"), &large).await.expect_err("it is too large");
    assert!(matches!(error, Error::TooMuch(_)), "{error}");
    assert_eq!(access(store.load(&key("https://mcp.example")).await?).as_deref(), Some("precious"));
    Ok(())
}
